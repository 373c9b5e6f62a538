"""A network of its own: brings loopback up, hands a listening socket out, and becomes the command.

usage: unshare -n -- python stage.py FD COMMAND [ARGUMENT…]
"""

import fcntl
import os
import socket
import struct
import sys

# netdevice(7): struct ifreq is the name in 16 bytes, then the flags; SIOCSIFFLAGS sets them.
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1


def main() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
    with socket.socket(fileno=int(sys.argv[1])) as link, socket.create_server(("127.0.0.1", 0)) as listening:
        socket.send_fds(link, [b"."], [listening.fileno()])
        address = listening.getsockname()
    os.environ["ANTHROPIC_BASE_URL"] = f"http://{address[0]}:{address[1]}"
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
