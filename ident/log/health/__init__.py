"""What is wrong with a log: findings, each with its joint, its time and what follows."""
