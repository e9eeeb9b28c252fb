// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FoundationDB is a cluster of a test's own. Each process can be killed, paused and started
// again. That a process runs does not say that the cluster answers: a client waits for that.
type FoundationDB struct {
	File      string // the cluster file
	Processes []*Server

	cli []string // fdbcli and what it needs to talk to the cluster
}

// StartFoundationDB starts a cluster of so many processes, with further arguments for fdbserver
// and fdbcli, such as "--tls-certificate-file", …: with a certificate, the cluster speaks TLS. The
// data is in memory, its log on disk: it outlives the processes. Three or more processes
// keep it twice, and each is a coordinator.
func StartFoundationDB(tb testing.TB, processes int, args ...string) *FoundationDB {
	tb.Helper()
	if _, err := find([]string{"fdbserver"}); err != nil {
		skip(tb, err, "foundationdb-server", "foundationdb")
	}
	c, err := startFoundationDB(tb, processes, args)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func startFoundationDB(tb testing.TB, processes int, args []string) (*FoundationDB, error) {
	folder, err := newFolder("foundationdb", nil)
	if err != nil {
		return nil, err
	}
	c := &FoundationDB{File: filepath.Join(folder, "fdb.cluster")}
	c.cli = append([]string{"fdbcli", "--cluster-file", c.File}, args...)
	for range processes {
		s, err := c.add(folder, args)
		if err != nil {
			return nil, err
		}
		killAtEnd(tb, s)
	}
	return c, c.configure(tb.Context())
}

// add starts one more process. The cluster file names the first one.
func (c *FoundationDB) add(folder string, args []string) (*Server, error) {
	n := len(c.Processes)
	home := filepath.Join(folder, fmt.Sprint(n))
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	var failed error
	s, err := newServer(nil, home, kind{
		args: func(port int) []string {
			address := fmt.Sprintf("127.0.0.1:%d", port)
			if strings.Contains(strings.Join(args, " "), "tls") {
				address += ":tls"
			}
			if n == 0 {
				failed = os.WriteFile(c.File, []byte("test:test@"+address+"\n"), 0o600)
			}
			return append([]string{
				"fdbserver", "--cluster-file", c.File, "--public-address", address, "--datadir", home, "--logdir", home,
				"--memory", "4GiB", "--locality-machineid", fmt.Sprint(n), "--locality-zoneid", fmt.Sprint(n),
			}, args...)
		},
		check: dial,
	})
	if err == nil {
		err = failed
	}
	c.Processes = append(c.Processes, s)
	return s, err
}

// dial asks whether a process listens.
func dial(ctx context.Context, addr string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}

// configure makes the database, and waits until it can be used.
func (c *FoundationDB) configure(ctx context.Context) error {
	mode, commands := "single", []string{"status minimal"}
	if len(c.Processes) >= 3 {
		mode, commands = "double", append(commands, "coordinators auto")
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		out, err := c.Run(ctx, "configure new "+mode+" memory")
		if err == nil || strings.Contains(out, "already exists") {
			break
		}
		if ctx.Err() != nil {
			return err
		}
	}
	for _, command := range commands {
		if _, err := c.Run(ctx, command); err != nil {
			return err
		}
	}
	return nil
}

// Run runs a command of fdbcli, and returns what it writes. The command is tried for ten
// seconds at most.
func (c *FoundationDB) Run(ctx context.Context, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*checkTimeout)
	defer cancel()
	args := append(c.cli[1:len(c.cli):len(c.cli)], "--timeout", fmt.Sprint(int(checkTimeout/time.Second)), "--exec", command)
	out, err := exec.CommandContext(ctx, c.cli[0], args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("servers: fdbcli %q: %w\n%s", command, err, out)
	}
	return string(out), err
}
