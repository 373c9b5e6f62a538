#!/bin/sh
# One hook input: fd 0, byte for byte, into one file of the spool.
#
#   capture.sh [wake]        wake: start a worker that is gone, afterwards
#
# Prints nothing and exits 0 whatever happens. Two processes (cat, mv) and no third: each costs a millisecond of every tool call.
# stdin is a socket, so /dev/stdin cannot be opened; `command` steps over functions that the user's shell exported.

[ -w /dev/null ] && exec >/dev/null 2>&1
umask 077
PATH=/usr/bin:/bin:${PATH:-}
locale=${LC_ALL:-}
export LC_ALL=C # else cat and mv load the user's locale: a tenth of all the time

leave() {
  command cat >/dev/null # to the end: a client writing into a closed socket may call that an error
  exit 0
}

home=${RECORDER_HOME:-}
if [ -z "$home" ]; then
  home=${0%/hooks/*} # a copy inside a home belongs to that home
  [ -e "$home/wake" ] || home=${HOME:-}/.recorder
fi
case $home in
  /.recorder | [!/]*) leave ;; # no HOME, or a path that would land in the user's own tree
esac

session=${CLAUDE_CODE_SESSION_ID:-}
case $session in
  '' | *[!A-Za-z0-9-]*) session=none ;;
esac
[ ${#session} -le 64 ] || session=none

case ${RECORDER_OFF:-0} in
  0) ;;
  *) # the marker keeps a later reading of the transcript from taking the session in
    if [ "$session" = none ]; then # a client that does not name the session in the environment names it first in its input
      session=$(command head -c 4096)
      case $session in
        *'"session_id":"'* | *'"session_id": "'*)
          session=${session#*'"session_id":'*'"'} session=${session%%'"'*}
          ;;
      esac
      case $session in
        '' | *[!A-Za-z0-9-]*) session=none ;;
      esac
      [ ${#session} -le 64 ] || session=none
    fi
    if [ "$session" != none ] && [ ! -e "$home/off/$session" ]; then
      [ -d "$home/off" ] || command mkdir -p "$home/off"
      true >"$home/off/$session"
    fi
    leave
    ;;
esac

spool=$home/spool tmp=$home/spool/tmp new=$home/spool/new
if [ ! -d "$tmp" ] || [ ! -d "$new" ] || [ ! -s "$spool/lost" ]; then
  command mkdir -p "$tmp" "$new"
  # A newline, then one dot for each input that could not be written. The newline holds the block that a full disk would refuse.
  [ -s "$spool/lost" ] || echo >>"$spool/lost"
fi

# The time since boot in hundredths of a second tells two processes of one id apart; elsewhere what bash offers.
read -r ticks rest </proc/uptime || ticks=$PPID-${RANDOM:-0}
case $ticks in
  '' | *[!0-9.-]*) ticks=$PPID ;;
esac
base=$session-$$-$ticks name=$base.json

if [ -e "$home/paused" ]; then # its mtime is the end of the pause; an empty file made now tells the time
  true >"$tmp/$name.now"
  if [ ! -e "$tmp/$name.now" ] || [ "$home/paused" -nt "$tmp/$name.now" ]; then
    command rm -f "$tmp/$name.now"
    leave
  fi
  command rm -f "$tmp/$name.now"
fi

claimed='' whole='' tries=0
set -C # `>` makes a file or fails: the name in tmp/ is ours alone
while [ -z "$claimed" ] && [ $tries -lt 9 ]; do
  [ $tries = 0 ] || name=$base-$tries.json
  [ -e "$new/$name" ] || { claimed=1 && command cat && whole=1; } >"$tmp/$name"
  tries=$((tries + 1))
done
set +C
if [ -z "$whole" ]; then
  # What is torn goes first: on a full disk that frees the byte we count with.
  [ -z "$claimed" ] || command rm -f "$tmp/$name"
  printf . >>"$spool/lost"
  leave
fi
# Never over an existing name. What stays in tmp/ is whole, and the worker takes it in a minute later.
command mv -n "$tmp/$name" "$new/$name"

if [ "${1:-}" = wake ] && [ -x "$home/wake" ]; then
  if [ -n "$locale" ]; then LC_ALL=$locale; else unset LC_ALL; fi
  # A child that kept our stdout or stderr would hold the session for its whole life.
  "$home/wake" </dev/null >/dev/null 2>&1 &
fi
exit 0
