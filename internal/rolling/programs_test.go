// SPDX-License-Identifier: Apache-2.0

package rolling

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/remote"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/servers"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// shared returns a new database that several processes can open: a part of the cluster
// of FDB_CLUSTER_FILE in a test for clusters, else an engine of this process.
func shared(t *testing.T) Place {
	if enginetest.Cluster {
		p := Place{Cluster: os.Getenv("FDB_CLUSTER_FILE"), Prefix: []byte("rolling/" + rand.Text() + "/")}
		t.Cleanup(func() { clear(t, p) })
		return p
	}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	engine := enginetest.Open(t)
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { served <- remote.Serve(ctx, listener, engine) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return Place{Address: listener.Addr().String()}
}

// clear removes what a test has left in the cluster.
func clear(t *testing.T, p Place) {
	ctx := context.WithoutCancel(t.Context())
	db, err := fdbkv.Open(p.Cluster)
	if err != nil {
		t.Error(err)
		return
	}
	defer db.Close()
	if err := db.Transact(ctx, func(tx kv.Transaction) error { tx.ClearRange(kv.PrefixRange(p.Prefix)); return nil }); err != nil {
		t.Error(err)
	}
}

// examine has the commands of both versions examine a folder, and a backup by one of
// them that the other restores.
func examine(t *testing.T, random *mathrand.Rand, folder string) {
	t.Helper()
	if !On() {
		return
	}
	first, second := Previous, Today
	if random.IntN(2) == 0 {
		first, second = second, first
	}
	dir := t.TempDir()
	backup, restored := filepath.Join(dir, "backup"), filepath.Join(dir, "restored")
	kazahana(t, first, "doctor", "--db", folder)
	kazahana(t, second, "doctor", "--db", folder)
	kazahana(t, first, "backup", "--db", folder, backup)
	kazahana(t, second, "verify", "--db", backup)
	kazahana(t, second, "restore", "--db", restored, backup)
	kazahana(t, first, "verify", "--db", restored)
	kazahana(t, first, "doctor", "--db", restored)
}

// kazahana runs the command of a version to its end.
func kazahana(t *testing.T, v Version, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, v.Program("kazahana"), args...).CombinedOutput(); err != nil {
		t.Fatalf("kazahana %q of the %s version: %v\n%s", args, v, err, out)
	}
}

// TestIDs has programs of both versions make IDs under leases of one home, some of which
// are killed: no ID comes twice, and both versions list all leases.
func TestIDs(t *testing.T) {
	if !On() {
		return // it runs the command of both versions
	}
	for name, begin := range map[string]func(t *testing.T, m *makers) string{
		"sqlite": func(t *testing.T, _ *makers) string { return "sqlite:" + filepath.Join(t.TempDir(), "leases.db") },
		"redis": func(t *testing.T, _ *makers) string {
			return "redis://" + servers.StartRedis(t, "--appendonly", "yes").Addr + "/0"
		},
		"embedded": func(t *testing.T, m *makers) string {
			m.together = 1 // one process has the folder
			return "embedded:" + filepath.Join(t.TempDir(), "leases")
		},
		"http": func(t *testing.T, m *makers) string { return m.serve(t) },
		"fdb": func(t *testing.T, m *makers) string {
			if !enginetest.Cluster {
				m.runs = 0
			}
			return "fdb:" + os.Getenv("FDB_CLUSTER_FILE")
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &makers{random: seed.Rand(t), together: 3, runs: 8, ids: map[string]bool{}, service: "rolling-" + rand.Text()}
			if m.home = begin(t, m); m.runs > 0 {
				m.makeAll(t)
			}
		})
	}
}

// makers are programs that make IDs under leases of one home.
type makers struct {
	random         *mathrand.Rand
	home, service  string
	together, runs int
	mu             sync.Mutex
	ids            map[string]bool
	between        func() // what is done between two rounds of programs
}

// makeAll runs the programs in rounds of as many as may run together.
func (m *makers) makeAll(t *testing.T) {
	m.makeIDs(t, Today, 1, false, "--fresh")
	for range m.runs {
		var round sync.WaitGroup
		for range m.together {
			_, v, err := Next()
			check(t, err)
			kills := m.random.IntN(4) == 0
			round.Go(func() { m.makeIDs(t, v, 3000, kills) })
		}
		round.Wait()
		if m.between != nil {
			m.between()
		}
	}
	for _, v := range []Version{Previous, Today} {
		kazahana(t, v, "lease", "list", "--leases", m.home, "--service", m.service)
	}
	t.Logf("%d IDs", len(m.ids))
}

// makeIDs runs a program that makes n IDs, or kills it before its end.
func (m *makers) makeIDs(t *testing.T, v Version, n int, kills bool, args ...string) {
	cmd := exec.Command(v.Program("kazahana"), append([]string{"id", "new", "-n", fmt.Sprint(n), "--leases", m.home, "--service", m.service, "--timeout", patience.String()}, args...)...)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	made := 0
	for lines := bufio.NewReader(out); ; made++ {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a program that was killed may have written a part of a line
		}
		m.add(t, v, line)
		if kills && made == n/2 {
			_ = cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); !kills && (err != nil || made != n) {
		t.Errorf("the %s version made %d of %d IDs: %v", v, made, n, err)
	}
}

// add notes an ID.
func (m *makers) add(t *testing.T, v Version, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids[id] {
		t.Errorf("the ID %s came twice, the second time from the %s version", id, v)
	}
	m.ids[id] = true
}

// serve serves leases over HTTP by programs of both versions, which are killed one after the other, and returns their address.
func (m *makers) serve(t *testing.T) string {
	port := must(servers.FreePort())(t)
	address := fmt.Sprint("127.0.0.1:", port)
	home := "sqlite:" + filepath.Join(t.TempDir(), "leases.db")
	var server *exec.Cmd
	start := func(args ...string) {
		_, v, err := Next()
		check(t, err)
		server = exec.Command(v.Program("kazahana"), append([]string{"lease", "serve", "--leases", home, "--listen", address}, args...)...)
		server.Stderr = t.Output()
		check(t, server.Start())
		awaitAnswer(t, "http://"+address)
	}
	kill := func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}
	start("--fresh")
	t.Cleanup(func() { kill() })
	m.between = func() { kill(); start() }
	return "http://" + address
}

// awaitAnswer waits until a server answers, whatever it does.
func awaitAnswer(t *testing.T, url string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		response, err := http.Get(url)
		if err == nil {
			_ = response.Body.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
