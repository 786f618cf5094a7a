"""`stribeck show` opens the page of a folder, and says where it is without a screen."""

import webbrowser

import pytest

PAGE = "report.html"


@pytest.fixture
def opened(monkeypatch):
    """Addresses that a browser was asked to open."""
    found = []
    monkeypatch.setattr(webbrowser, "open", lambda address: found.append(address) or True)
    monkeypatch.setenv("DISPLAY", ":0")
    return found


def test_the_page_of_a_folder_is_opened(cli, opened, tmp_path):
    (tmp_path / PAGE).write_text("<html></html>", encoding="utf-8")
    for place in (tmp_path, tmp_path / PAGE):
        assert cli("show", place).code == 0
    assert opened == [(tmp_path / PAGE).resolve().as_uri()] * 2


def test_without_a_screen_the_path_is_printed(cli, opened, tmp_path, monkeypatch):
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    (tmp_path / PAGE).write_text("<html></html>", encoding="utf-8")
    told = cli("show", tmp_path)
    assert told.code == 0
    assert PAGE in told.out
    assert "open this file" in told.out
    assert not opened


def test_a_folder_without_a_report_is_refused(cli, tmp_path):
    told = cli("show", tmp_path)
    assert told.code == 2
    assert "stribeck report" in told.err
