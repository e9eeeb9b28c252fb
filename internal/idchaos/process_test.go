// SPDX-License-Identifier: Apache-2.0

package idchaos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/rolling"
	"github.com/kazahana-db/kazahana/internal/servers"
)

// node is a process that serves.
type node struct {
	config nodeConfig
	mu     sync.Mutex // held while it is started, stopped or killed
	cmd    *exec.Cmd
	log    tail
	// generation grows whenever the node is disturbed, and when it serves again: a
	// request that sees two generations may fail.
	generation atomic.Int64
	disturbed  atomic.Bool
}

// freeAddresses returns addresses of loopback that are free, even while their node is killed:
// no outgoing connection takes one of these ports.
func freeAddresses(t *testing.T, n int) (addresses []string) {
	t.Helper()
	for len(addresses) < n {
		port, err := servers.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if address := fmt.Sprint("127.0.0.1:", port); !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// start starts the process, and waits until it serves.
func (n *node) start(t *testing.T) {
	config, err := json.Marshal(n.config)
	if err != nil {
		t.Error(err)
		return
	}
	program, err := rolling.Any()
	if err != nil {
		t.Error(err)
		return
	}
	n.cmd = exec.Command(program)
	n.cmd.Env = append(os.Environ(), nodeVariable+"="+string(config), "GOMAXPROCS=2")
	n.cmd.Stderr = &n.log
	_, err = n.cmd.StdinPipe() // when it ends, at the latest with this process, the node ends
	if err == nil {
		err = n.cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	addresses := append(append([]string{}, n.config.Workers...), n.config.Serve...)
	for _, address := range addresses {
		for begun := time.Now(); !answers(address); {
			if took := time.Since(begun); took > 5*time.Minute {
				t.Errorf("%s does not serve after %v: %s", address, took, n.log.String())
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	n.generation.Add(1)
	n.disturbed.Store(false)
}

// answers reports whether a server answers at an address.
func answers(address string) bool {
	client := http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	response, err := client.Get("http://" + address + "/health")
	if err != nil {
		return false
	}
	return response.Body.Close() == nil
}

// markDisturbed marks the node: its requests may fail.
func (n *node) markDisturbed() {
	n.disturbed.Store(true)
	n.generation.Add(1)
}

// killFor kills the process, as a crash does, and starts it again after a while.
func (n *node) killFor(t *testing.T, down time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.markDisturbed()
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
	time.Sleep(down)
	n.start(t)
}

// pauseFor stops the process for a while. Its requests take longer, and succeed.
func (n *node) pauseFor(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(d)
	_ = n.cmd.Process.Signal(syscall.SIGCONT)
}

// end ends the process for good.
func (n *node) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.markDisturbed()
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
}

// tail keeps the end of what a process writes.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 1 << 20

// Write implements io.Writer.
func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if len(l.text) > 2*maxTail {
		l.text = append([]byte{}, l.text[len(l.text)-maxTail:]...)
	}
	return len(p), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// lines returns the lines that contain a text.
func (l *tail) lines(part string) (lines []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, part) {
			lines = append(lines, line)
		}
	}
	return lines
}
