// SPDX-License-Identifier: Apache-2.0

// Visits counts the visits of pages. Each page is a virtual actor, which keeps its count in the
// database.
//
//	go run ./examples/visits [-name NAME] [-data DIR] PAGE...
//	go run -tags foundationdb ./examples/visits [-name NAME] --cluster-file FILE PAGE...
//
// Without pages it serves calls of other processes until it is interrupted. This
// needs a cluster: only one process at a time can open the embedded engine.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/http2"
)

// page is an actor: it handles one call at a time.
type page struct {
	db    kv.Database // under the activation's fence
	key   []byte
	epoch int64
}

// VisitCount is what a page answers.
type VisitCount struct {
	Visits uint64
	Epoch  int64 // of the activation that has counted
}

// openPage makes a page active, in the process where it is to be, when it is called and
// is not active anywhere.
func openPage(db kv.Database, a *host.Activation) *page {
	return &page{db: a.Fence().Under(db), key: []byte("visits/" + a.Key().ID), epoch: a.Epoch()}
}

// Visit counts a visit. It reads and writes in one transaction, which commits only while the
// page is active here. (If its acknowledgement is lost, it may count the visit twice: money
// needs a record of each payment.)
func (p *page) Visit(ctx context.Context, _ struct{}) (VisitCount, error) {
	count := VisitCount{Epoch: p.epoch}
	err := p.db.Transact(ctx, func(tx kv.Transaction) error {
		stored, err := tx.Get(p.key).Get(ctx)
		if err != nil {
			return err
		}
		count.Visits = 1
		if len(stored) == 8 {
			count.Visits += binary.BigEndian.Uint64(stored)
		}
		tx.Set(p.key, binary.BigEndian.AppendUint64(nil, count.Visits))
		return nil
	})
	return count, err
}

// visit runs a member of the cluster, visits pages, and leaves.
func visit(ctx context.Context, out io.Writer, db kv.Database, name string, pages []string) (err error) {
	transport, err := http2.Listen("127.0.0.1:0", http2.Options{})
	if err != nil {
		return err
	}
	h, err := host.New(db, host.Options{Name: name, Transport: transport})
	if err != nil {
		return err
	}
	kind, err := host.Register(h, "page", func(_ context.Context, a *host.Activation) (*page, error) {
		return openPage(db, a), nil
	})
	if err != nil {
		return err
	}
	visit, err := host.Handle(kind, "visit", (*page).Visit)
	if err != nil {
		return err
	}
	if err := h.Start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Stop(context.WithoutCancel(ctx))) }()
	for _, id := range pages {
		v, err := visit.Call(ctx, id, struct{}{}) // wherever the page is
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: visit %d, under epoch %d\n", id, v.Visits, v.Epoch)
	}
	if len(pages) == 0 {
		fmt.Fprintf(out, "%s serves pages until it is interrupted.\n", name)
		<-ctx.Done()
	}
	return nil
}

func main() {
	name := flag.String("name", "a", "name of this process in the cluster")
	data := flag.String("data", filepath.Join("data", "visits"), "folder of the database")
	cluster := flag.String("cluster-file", "", "cluster file of a FoundationDB cluster, which is used instead of a folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx, os.Stdout, *data, *cluster, *name, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "visits:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, out io.Writer, dir, clusterFile, name string, pages []string) error {
	db, err := open(dir, clusterFile)
	if err != nil {
		return err
	}
	return errors.Join(visit(ctx, out, db, name, pages), db.Close())
}

func open(dir, clusterFile string) (kv.Database, error) {
	if clusterFile != "" {
		return fdbkv.Open(clusterFile)
	}
	return embedded.Open(dir)
}
