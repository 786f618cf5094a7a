"""Arm files made from models."""
