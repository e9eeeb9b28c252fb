// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// attributes let the kernel kill a server when the thread that started it ends.
func attributes(account *account) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if account != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(account.uid), Gid: uint32(account.gid)}
	}
	return attr
}

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// stopAll stops a process and its children, first the process, so that it makes
// no more of them, and returns them all.
func stopAll(pid int) ([]int, error) {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return nil, fmt.Errorf("servers: stop %d: %w", pid, err)
	}
	pids := append([]int{pid}, children(pid)...)
	for _, child := range pids[1:] {
		_ = syscall.Kill(child, syscall.SIGSTOP) // it may have ended by itself
	}
	return pids, nil
}

func signalAll(pids []int, signal syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal)
	}
}

// resumeAll undoes stopAll.
func resumeAll(pids []int) { signalAll(pids, syscall.SIGCONT) }

// endTimeout is how long killed processes may take to end: one that waits for the
// disk ends only then.
const endTimeout = time.Minute

// killAll kills a process and its children at once, as the end of the machine
// would: PostgreSQL has a process for each connection. It waits until the
// children have ended, as their memory keeps the server from starting again.
func killAll(pid int) error {
	pids, err := stopAll(pid)
	signalAll(pids, syscall.SIGKILL)
	deadline := time.Now().Add(endTimeout)
	for err == nil && slices.ContainsFunc(pids[1:], alive) && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	return err
}

// alive reports whether a process exists that has not ended; one that has ended
// may wait for its parent to notice.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(stat), ") ") // after the name
	return err == nil && !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

// children returns the processes that threads of a process have started.
func children(pid int) []int {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	var pids []int
	for _, task := range tasks {
		list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		for word := range strings.FieldsSeq(string(list)) {
			if child, err := strconv.Atoi(word); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// listens reports whether a process has the socket that listens at an IPv4 address
// of the loopback interface.
func listens(pid int, addr string) bool {
	inode, err := listeningSocket(addr)
	if err != nil {
		return false
	}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return slices.ContainsFunc(files, func(name string) bool {
		target, err := os.Readlink(name)
		return err == nil && target == "socket:["+inode+"]"
	})
}

// listeningSocket returns the inode of the socket that listens at an address, by
// the columns of /proc/net/tcp: local address, state (0A listens), inode.
func listeningSocket(addr string) (inode string, err error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", err
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return "", err
	}
	suffix := fmt.Sprintf(":%04X", number)
	for line := range strings.Lines(string(table)) {
		columns := strings.Fields(line)
		if len(columns) > 9 && strings.HasSuffix(columns[1], suffix) && columns[3] == "0A" {
			return columns[9], nil
		}
	}
	return "", fmt.Errorf("servers: no socket listens at %s", addr)
}
