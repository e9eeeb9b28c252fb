// SPDX-License-Identifier: Apache-2.0

package idchaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/file"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/idbuilder/store/mysql"
	"github.com/kazahana-db/kazahana/idbuilder/store/postgres"
	"github.com/kazahana-db/kazahana/idbuilder/store/redis"
	"github.com/kazahana-db/kazahana/internal/idbuilder/controller"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

const (
	nodeVariable = "KAZAHANA_CHAOS_NODE"
	adminToken   = "an-admin-token-for-tests-alone"
)

// nodeConfig is the configuration of a process of the test.
type nodeConfig struct {
	Store       string // which kind
	Address     string // URL, or folder
	Workers     []string
	Controllers []string // all workers; this node serves those with its address
	Serve       []string // addresses of controllers to serve
}

// TestMain runs a node if the process was started as one.
func TestMain(m *testing.M) {
	if text := os.Getenv(nodeVariable); text != "" {
		var c nodeConfig
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			panic(err)
		}
		c.serve()
	}
	os.Exit(m.Run())
}

// serve serves until the process is killed, or its parent process ends.
func (c *nodeConfig) serve() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	s, err := c.openStore()
	for err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		failed := s.Init(ctx)
		cancel()
		if failed == nil {
			break
		}
		fmt.Fprintln(os.Stderr, "node:", failed)
		time.Sleep(100 * time.Millisecond) // the store may be down
	}
	for _, address := range c.Serve {
		if err == nil {
			err = c.serveController(s, address)
		}
	}
	for _, address := range c.Workers {
		if err == nil {
			err = c.serveWorker(s, address)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
	select {}
}

func (c *nodeConfig) openStore() (store.Store, error) {
	switch c.Store {
	case "file":
		return file.Open(c.Address, file.Options{})
	case "redis":
		options, err := goredis.ParseURL(c.Address)
		if err != nil {
			return nil, err
		}
		return redis.New(goredis.NewClient(options), redis.Options{Durable: true})
	case "postgres":
		return postgres.Open(postgres.Options{URL: c.Address})
	case "mariadb":
		return mysql.Open(mysql.Options{URL: c.Address})
	}
	db, err := embedded.Open(c.Address)
	if err != nil {
		return nil, err
	}
	return kvstore.New(db, kvstore.Options{})
}

// quiet returns a logger that logs errors only.
func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

func (c *nodeConfig) serveWorker(s store.Store, address string) error {
	var hooks worker.Hooks
	o := worker.Options{
		AdminToken: adminToken, Validity: 5 * time.Second, Logger: quiet(), // more than the longest pause of a process
		LeaseDuration: 2 * time.Second, LeaseHold: 4 * time.Second, LeaseSkew: -1,
	}
	o.BatchSize = 500
	if len(c.Controllers) > 0 {
		link, err := controller.NewClient(controller.ClientOptions{Endpoints: c.Controllers, Token: adminToken, Address: "http://" + address, Logger: quiet(), Timeout: time.Second})
		if err != nil {
			return err
		}
		go func() { _ = link.Run(context.Background()) }()
		hooks.Controller = link.State
	}
	w, err := worker.New(s, o, hooks)
	if err != nil {
		return err
	}
	return serve(address, w)
}

func (c *nodeConfig) serveController(s store.Store, address string) error {
	authorize := func(r *http.Request) error {
		if !strings.HasSuffix(r.Header.Get("Authorization"), adminToken) {
			return fmt.Errorf("another token")
		}
		return nil
	}
	o := controller.Options{Authorize: authorize, Heartbeat: 200 * time.Millisecond, Lease: time.Second, Logger: quiet()}
	ctl, err := controller.New(s, o)
	if err != nil {
		return err
	}
	go func() { _ = ctl.Run(context.Background()) }()
	return serve(address, ctl.Handler())
}

func serve(address string, h http.Handler) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go func() { panic(http.Serve(l, h)) }()
	return nil
}
