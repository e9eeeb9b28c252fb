// SPDX-License-Identifier: Apache-2.0

package idchaos

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/servers"
)

// keys of increment IDs; see createConfigs.
var keys = []string{"orders", "visits", "random", "descending"}

// chaos is a run on one store.
type chaos struct {
	t       *testing.T
	nodes   []*node
	targets []*target
	server  *servers.Server // of the store; nil if it is in the nodes
	ledger  *ledger
	enough  int64 // IDs, after which the run ends

	store                   atomic.Int64 // grows when the store is disturbed and when it is back: odd in between
	storeBack               atomic.Int64 // Unix nanoseconds
	requests, lost, refused atomic.Int64
	kills, pauses, restarts atomic.Int64
}

// TestChaos runs 8 workers and 2 controllers on each store, kills and stops them and the
// store, and checks that no ID comes twice, that the numbers of each worker increase, and
// that each request is answered if its worker is alive.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts and kills servers for seconds")
	}
	for name, begin := range map[string]func(t *testing.T, c *chaos) string{
		"file":     func(t *testing.T, _ *chaos) string { return t.TempDir() },
		"embedded": func(t *testing.T, _ *chaos) string { return t.TempDir() },
		"redis": func(t *testing.T, c *chaos) string {
			c.server = servers.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
			return "redis://" + c.server.Addr
		},
		"postgres": func(t *testing.T, c *chaos) string {
			s := servers.StartPostgres(t, "-c", "fsync=on", "-c", "synchronous_commit=on")
			c.server = s.Server
			return s.NewDatabase(t)
		},
		"mariadb": func(t *testing.T, c *chaos) string {
			s := servers.StartMariaDB(t, "--innodb-flush-log-at-trx-commit=1")
			c.server = s.Server
			return s.NewDatabase(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &chaos{t: t, ledger: newLedger()}
			c.run(name, begin(t, c), seed.Of(t))
		})
	}
}

// duration returns the time of a run, and the number of IDs after which it ends.
func duration(t *testing.T) (time.Duration, int64) {
	text := os.Getenv("KAZAHANA_CHAOS")
	if text == "" {
		return 2 * time.Second, 10_000_000
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("KAZAHANA_CHAOS: %v", err)
	}
	return d, 1 << 40
}

func (c *chaos) run(kind, address string, seed uint64) {
	var d time.Duration
	d, c.enough = duration(c.t)
	c.startNodes(kind, address)
	c.createConfigs()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	var loads, faults sync.WaitGroup
	for i := range 12 {
		l := &load{chaos: c, random: rand.New(rand.NewPCG(seed, uint64(i)))}
		loads.Go(func() { l.run(ctx) })
	}
	c.awaitID()
	time.AfterFunc(d, cancel)
	for i := range 2 {
		random := rand.New(rand.NewPCG(seed, uint64(100+i)))
		faults.Go(func() { c.disturbNodes(ctx, random) })
	}
	loads.Wait()
	cancel()
	faults.Wait()
	for _, n := range c.nodes {
		n.end()
	}
	c.checkRun(d)
}

// awaitID waits until an ID was given: on a slow machine the time of a run may be over before.
func (c *chaos) awaitID() {
	for end := time.Now().Add(time.Minute); c.ledger.count() == 0 && !c.t.Failed(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			c.t.Error("no ID was given")
		}
	}
}

// startNodes starts the nodes: 8 workers and 2 controllers, a process each; on the embedded
// engine, which one process uses, all in one process.
func (c *chaos) startNodes(kind, address string) {
	addresses := freeAddresses(c.t, 10)
	workers, controllers := addresses[:8], addresses[8:]
	base := nodeConfig{Store: kind, Address: address}
	for _, a := range controllers {
		base.Controllers = append(base.Controllers, "http://"+a)
	}
	add := func(workers, controllers []string) *node {
		n := &node{config: base}
		n.config.Workers, n.config.Serve = workers, controllers
		c.nodes = append(c.nodes, n)
		return n
	}
	if kind == "embedded" {
		add(workers, controllers)
	} else {
		for i := range controllers {
			add(nil, controllers[i:i+1])
		}
		for i := range workers {
			add(workers[i:i+1], nil)
		}
	}
	var started sync.WaitGroup
	for _, n := range c.nodes {
		started.Go(func() { n.start(c.t) })
		c.t.Cleanup(n.end)
		for _, a := range n.config.Workers {
			c.targets = append(c.targets, &target{node: n, address: a, client: &http.Client{Timeout: 45 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}})
		}
	}
	started.Wait()
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// createConfigs creates the configurations.
func (c *chaos) createConfigs() {
	for path, body := range map[string]string{
		"increment?1": `{"key": "orders", "base": 0}`,
		"increment?2": `{"key": "visits", "base": 1000, "delta": 3}`,
		"increment?3": `{"key": "random", "base": 0, "delta": 10, "rand_delta": true}`,
		"increment?4": `{"name": "descending", "start": 0, "step": -1, "min": -1000000000000}`,
		"snowflake":   `{"key": "events", "base_ts": 1767225600000, "ts_size": 41, "worker_id_size": 8, "seq_size": 14}`,
		"formatted":   `{"key": "bills", "parts": [{"type": "fixed-chars", "value": "B"}, {"type": "date-format", "format": "yyyyMMdd"}, {"type": "auto-increment", "length": 6, "reset_scope": "date"}]}`,
	} {
		path, _, _ = strings.Cut(path, "?")
		request, err := http.NewRequest(http.MethodPost, "http://"+c.targets[0].address+"/v1/config/"+path, strings.NewReader(body))
		if err != nil {
			c.t.Fatal(err)
		}
		request.Header.Set("Authorization", adminToken)
		response, err := c.targets[0].client.Do(request)
		if err != nil {
			c.t.Fatal(err)
		}
		if response.StatusCode != http.StatusOK {
			c.t.Fatalf("%s: %d", body, response.StatusCode)
		}
		_ = response.Body.Close()
	}
}

// disturbNodes kills and stops nodes, and the store, until the run ends.
func (c *chaos) disturbNodes(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(100+random.IntN(900)) * time.Millisecond):
		}
		n := c.nodes[random.IntN(len(c.nodes))]
		switch k := random.IntN(10); {
		case k < 5:
			c.kills.Add(1)
			n.killFor(c.t, time.Duration(random.IntN(300))*time.Millisecond)
		case k < 8:
			c.pauses.Add(1)
			n.pauseFor(time.Duration(50+random.IntN(1000)) * time.Millisecond)
		default:
			c.disturbStore(random)
		}
	}
}

var storeMutex sync.Mutex // one goroutine at a time disturbs the store

// disturbStore kills the store and starts it again, or stops it for a while.
func (c *chaos) disturbStore(random *rand.Rand) {
	if c.server == nil {
		return
	}
	storeMutex.Lock()
	defer storeMutex.Unlock()
	c.restarts.Add(1)
	c.store.Add(1)
	if random.IntN(2) == 0 {
		c.server.Kill(c.t)
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		c.server.Start(c.t)
	} else {
		c.server.Pause(c.t)
		time.Sleep(time.Duration(50+random.IntN(1000)) * time.Millisecond)
		c.server.Resume(c.t)
	}
	c.storeBack.Store(time.Now().UnixNano())
	c.store.Add(1)
}

// checkRun logs what happened, and fails the test if an ID came twice.
func (c *chaos) checkRun(d time.Duration) {
	for _, fault := range c.ledger.faults {
		c.t.Error(fault)
	}
	c.t.Logf("%v: %d IDs in %d requests, %d of them without an answer from a worker that was killed, %d refused; %d kills, %d pauses, the store disturbed %d times",
		d, c.ledger.n, c.requests.Load(), c.lost.Load(), c.refused.Load(), c.kills.Load(), c.pauses.Load(), c.restarts.Load())
}
