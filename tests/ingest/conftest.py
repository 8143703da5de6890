"""Frames are drawn."""

from tests.support.drawn import draw as draw
