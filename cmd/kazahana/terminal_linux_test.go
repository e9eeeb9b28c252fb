// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// keyboard is a person at a terminal, on which a process runs.
type keyboard struct {
	*testing.T
	pty  *os.File
	seen bytes.Buffer
	cmd  *exec.Cmd
}

// startTerminal runs the command on a terminal of its own, which sends it signals.
func startTerminal(t *testing.T, args ...string) *keyboard {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), commandVariable+"=1", "XDG_STATE_HOME="+t.TempDir())
	return onTerminal(t, cmd)
}

// onTerminal starts a process on a terminal of its own.
func onTerminal(t *testing.T, cmd *exec.Cmd) *keyboard {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("a terminal of its own: %v", err)
	}
	k := &keyboard{T: t, pty: pty, cmd: cmd}
	tty := k.openSide()
	k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = tty, tty, tty
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	k.check(k.cmd.Start())
	k.check(tty.Close())
	k.check(pty.SetReadDeadline(time.Now().Add(time.Minute))) // rather than until the tests end
	t.Cleanup(func() { _ = pty.Close() })
	return k
}

// openSide opens the side of the terminal that the process has.
func (k *keyboard) openSide() *os.File {
	k.Helper()
	raw, err := k.pty.SyscallConn() // Fd would end deadlines
	k.check(err)
	number := 0
	var failed error
	k.check(raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}))
	k.check(failed)
	tty, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	k.check(err)
	return tty
}

func (k *keyboard) check(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// expect reads until a text is on the terminal, and forgets what was before.
func (k *keyboard) expect(text string) {
	k.Helper()
	for p := make([]byte, 1024); !strings.Contains(k.seen.String(), text); {
		n, err := k.pty.Read(p)
		k.seen.Write(p[:n])
		if err != nil {
			k.Fatalf("%v; %q is not in %q", err, text, &k.seen)
		}
	}
	_, after, _ := strings.Cut(k.seen.String(), text)
	k.seen.Reset()
	k.seen.WriteString(after)
}

func (k *keyboard) enter(text string) {
	k.Helper()
	_, err := k.pty.WriteString(text)
	k.check(err)
}

const (
	controlC = "\x03"
	controlD = "\x04"
)

// TestInterruptedQuestion: in the shell, Ctrl-C at a question ends the command, and the line that
// is typed next is the shell's; without the shell it ends the process in order.
func TestInterruptedQuestion(t *testing.T) {
	folder := databaseOf(t, "a")
	k := startTerminal(t, "shell", "--db", folder)
	for range 2 {
		k.expect("kazahana /> ")
		k.enter("dir rm a\r")
		k.expect("[y/N] ")
		k.enter(controlC)
		k.expect("nothing was changed")
	}
	k.expect("kazahana /> ")
	k.enter("cd a\r")
	k.expect("kazahana /a> ")
	k.enter(controlD)
	k.check(k.cmd.Wait())

	k = startTerminal(t, "dir", "rm", "a", "--db", folder)
	k.expect("[y/N] ")
	k.enter(controlC)
	k.expect("nothing was changed")
	_ = k.cmd.Wait()
	if code := k.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// databaseOf returns the folder of a database with a directory.
func databaseOf(t *testing.T, path ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	db, err := embedded.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := directory.Root().Create(t.Context(), db, path); err != nil {
		t.Fatal(err)
	}
	return folder
}
