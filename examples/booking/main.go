// SPDX-License-Identifier: Apache-2.0

// Booking lets guests book rooms in several houses, over HTTP. It shows what an application needs in its
// first week: references that are checked, lists with pages in both directions, a search, bounds and
// times of fields, a rule that no two bookings overlap, a log that hooks write, and a page over the
// data.
//
//	STUDIO_TOKEN=$(openssl rand -hex 16) go run ./examples/booking [-data DIR] [-listen ADDRESS]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kazahana-db/kazahana/examples/booking/office"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/studio"
)

func main() {
	data := flag.String("data", filepath.Join("data", "booking"), "folder of the database")
	address := flag.String("listen", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *data, *address, os.Getenv("STUDIO_TOKEN")); err != nil {
		fmt.Fprintln(os.Stderr, "booking:", err)
		os.Exit(1) //nolint:gocritic // there is nothing to wait for
	}
}

func run(ctx context.Context, data, address, token string) (err error) {
	engine, err := embedded.Open(data, embedded.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	db, handler, err := open(ctx, engine, token)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handler.Close(), db.Close()) }()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/houses/HOUSE/…\n", listener.Addr())
	return serve(ctx, listener, handler)
}

// service is the handler of the program.
type service struct {
	*http.ServeMux
	pages *studio.Handler // nil without a token
}

// Close ends the page over the data.
func (s *service) Close() error {
	if s.pages != nil {
		s.pages.Close()
	}
	return nil
}

// open opens the database, builds the indexes that older versions of the program did not have, in all
// houses, and returns the service. With a token it has a page over the data at /studio/.
func open(ctx context.Context, engine kv.Database, token string) (*persistable.DB, *service, error) {
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		return nil, nil, err
	}
	s := &service{ServeMux: routes(db)}
	if err = migrate(ctx, db); err == nil && token != "" {
		s.pages, err = studio.New(db, studio.Options{Token: token, Database: "bookings"})
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	if s.pages != nil {
		s.Handle("/studio/", http.StripPrefix("/studio", s.pages))
	}
	return db, s, nil
}

func migrate(ctx context.Context, db *persistable.DB) error {
	o := office.Of(nil, "") // only the types count
	_, err := persistable.Migrate(ctx, db, persistable.MigrateOptions{}, o.Rooms, o.Guests, o.Reservations, o.Remarks, o.Log)
	return err
}

// serve answers requests until the context ends, and then lets those that run end.
func serve(ctx context.Context, listener net.Listener, s *service) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(s.Close(), server.Shutdown(late))
}
