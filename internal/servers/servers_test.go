// SPDX-License-Identifier: Apache-2.0

package servers_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kazahana-db/kazahana/internal/servers"
)

// starter starts a server of one kind.
type starter struct {
	name  string
	start func(testing.TB) *servers.Server
}

var starters = []starter{
	{"redis", func(tb testing.TB) *servers.Server { return servers.StartRedis(tb) }},
	{"postgres", func(tb testing.TB) *servers.Server { return servers.StartPostgres(tb).Server }},
	{"mariadb", func(tb testing.TB) *servers.Server { return servers.StartMariaDB(tb).Server }},
}

// TestLife starts a server, ends it in each way and starts it again.
func TestLife(t *testing.T) {
	for _, s := range starters {
		t.Run(s.name, func(t *testing.T) {
			server := s.start(t)
			server.Terminate(t)
			refuse(t, server.Addr)
			server.Start(t)
			server.Restart(t)
			server.Pause(t)
			server.Kill(t)
			refuse(t, server.Addr)
			server.Start(t)
		})
	}
}

// refuse checks that no server listens.
func refuse(t *testing.T, addr string) {
	t.Helper()
	if conn, err := net.Dial("tcp", addr); err == nil {
		_ = conn.Close()
		t.Fatalf("a server listens at %s", addr)
	}
}

// TestForeignServer starts a server at a port at which another one of its kind
// answers: that answer does not count.
func TestForeignServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells which process has a socket")
	}
	for _, s := range starters {
		t.Run(s.name, func(t *testing.T) {
			first, second := s.start(t), s.start(t)
			second.Terminate(t)
			if err := servers.StartAt(second, first.Addr); err == nil {
				t.Error("a server has started on a port that is taken")
			}
		})
	}
}

// TestTemporaryFolder starts a MariaDB while the test's own folder is the one for
// temporary files of all programs: a file there that looks like a temporary
// table of another server must stay.
func TestTemporaryFolder(t *testing.T) {
	shared := t.TempDir()
	for _, folder := range []string{shared, filepath.Dir(shared)} { // the server may run as another user
		if err := os.Chmod(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", shared)
	table := filepath.Join(shared, "#sql-temptable-1-1-1.MAI")
	if err := os.WriteFile(table, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	servers.StartMariaDB(t)
	if _, err := os.Stat(table); err != nil {
		t.Errorf("a server removed a table of another: %v", err)
	}
}

// TestPause checks that a paused PostgreSQL does not answer on a connection that
// it has a process for, and answers afterwards.
func TestPause(t *testing.T) {
	server := servers.StartPostgres(t)
	conn, err := pgx.Connect(t.Context(), server.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	server.Pause(t)
	answer := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "SELECT 1")
		answer <- err
	}()
	select {
	case err := <-answer:
		t.Fatalf("a paused server answers: %v", err)
	case <-time.After(50 * time.Millisecond): // cannot fail for lack of time
	}
	server.Resume(t)
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestKilled kills a process that has servers: they end, and their folder goes.
func TestKilled(t *testing.T) {
	if os.Getenv("KAZAHANA_SERVERS_CHILD") != "" {
		redis := servers.StartRedis(t)
		fmt.Printf("\n%s %s\n", redis.Folder, redis.Addr)
		fmt.Printf("%s %s\n", servers.Postgres(t).Folder, servers.Postgres(t).Addr)
		fmt.Printf("%s %s\nend\n", servers.MariaDB(t).Folder, servers.MariaDB(t).Addr)
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$", "-test.v")
	cmd.Env = append(os.Environ(), "KAZAHANA_SERVERS_CHILD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started := readStarted(t, out)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if len(started) != 3 {
		t.Fatalf("the process started %d servers, want 3", len(started))
	}
	for folder, addr := range started {
		waitUntilGone(t, folder, addr)
	}
}

// readStarted reads folders and addresses of servers.
func readStarted(t *testing.T, out io.Reader) map[string]string {
	t.Helper()
	started := map[string]string{}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "end"; {
		if strings.Contains(lines.Text(), "is not installed") && os.Getenv("CI") != "true" {
			t.Skip(lines.Text())
		}
		if folder, addr, ok := strings.Cut(lines.Text(), " "); ok && strings.HasPrefix(folder, "/") {
			started[folder] = addr
		}
	}
	return started
}

func waitUntilGone(t *testing.T, folder, addr string) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		_, err := os.Stat(folder)
		conn, dialled := net.Dial("tcp", addr)
		if os.IsNotExist(err) && dialled != nil {
			return
		}
		if dialled == nil {
			_ = conn.Close()
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s, %s: still there", folder, addr)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
