"""A program in a pseudo-terminal, and what its screen shows: enough of a terminal for lines that are redrawn."""

import codecs
import fcntl
import os
import re
import struct
import subprocess
import sys
import termios

START = """import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
UNWANTED = ("COLUMNS", "LINES", "NO_COLOR", "CI")
TOKEN = re.compile(r"\x1b\[[?\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+|\x1b")


class Screen:
    """The lines of a terminal of endless length, its cursor, and whether the cursor is shown."""

    def __init__(self, columns):
        self.columns, self.lines, self.row, self.column, self.cursor = columns, [""], 0, 0, True

    def feed(self, text):
        for token in TOKEN.findall(text):
            if token == "\r":
                self.column = 0
            elif token == "\n":
                self.move(self.row + 1)
            elif token.startswith("\x1b"):
                self.control(token)
            else:
                for letter in token:
                    self.put(letter)

    def put(self, letter):
        if self.column == self.columns:
            self.move(self.row + 1)
            self.column = 0
        before = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = before[: self.column] + letter + before[self.column + 1 :]
        self.column += 1

    def move(self, row):
        self.row = max(row, 0)
        self.lines += [""] * (self.row + 1 - len(self.lines))

    def control(self, token):
        if token in ("\x1b[?25l", "\x1b[?25h"):
            self.cursor = token.endswith("h")
        elif token.endswith("A"):
            self.move(self.row - int(token[2:-1] or 1))
        elif token == "\x1b[2K":
            self.lines[self.row] = ""
        elif not token.endswith("m"):
            raise AssertionError(f"the terminal of the tests does not know {token!r}")

    @property
    def shown(self):
        return [line.rstrip() for line in self.lines if line.strip()]


class Terminal:
    """maxmargin in a terminal with this many columns."""

    def __init__(self, arguments, columns):
        self.leader, follower = os.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = [sys.executable, "-c", START, sys.executable, "-m", "maxmargin", *arguments]
        environment = {key: value for key, value in os.environ.items() if key not in UNWANTED}
        self.process = subprocess.Popen(
            command, stdin=follower, stdout=follower, stderr=follower, env={**environment, "TERM": "xterm-256color"}
        )
        os.close(follower)
        self.screen, self.frames = Screen(columns), []
        self.decoder = codecs.getincrementaldecoder("utf-8")()

    def read(self):
        """Take what the program has written next; False at its end."""
        try:
            part = os.read(self.leader, 1 << 16)
        except OSError:  # the program has closed the terminal
            part = b""
        self.screen.feed(self.decoder.decode(part))
        self.frames.append(self.screen.shown)
        return bool(part)

    def read_until(self, wanted):
        """Read until a line of the screen matches; raise at the end of the program."""
        while not any(re.search(wanted, line) for line in self.screen.shown):
            assert self.read(), self.screen.shown

    def press_ctrl_c(self):
        os.write(self.leader, b"\x03")

    def end(self):
        """Read to the end; return the exit code."""
        while self.read():
            pass
        os.close(self.leader)
        return self.process.wait(timeout=60)
