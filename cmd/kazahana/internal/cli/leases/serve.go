// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/lease/leaseotel"
)

// drain bounds the time of running requests after the server has begun to end.
const drain = 10 * time.Second

func serveCommand(c *shell.Console) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve leases over HTTP", Args: shell.Arguments(cobra.NoArgs),
		Long: `Serve leases over HTTP, from any store. When the command is interrupted it finishes the requests under
way, and ends. It writes its address when it listens. Its log goes to the standard error output.

A client must show the token in --token-file or KAZAHANA_TOKEN, of 16 characters or more. The file may
have several tokens instead, in JSON, each with what it permits:
  [{"name": "orders", "secret": "…", "services": ["orders"], "maxLeasedPerMs": 65536, "list": true}]
A client that can acquire leases can use up all of them. So without a token the command listens to
this machine only, unless --open says that something else decides which clients may connect. Without
a token it refuses pages of other sites in a browser; --host names a server behind a proxy.
` + leasehome.AboutServices + "\n" + leasehome.About,
		Example: "  kazahana lease serve --leases sqlite:leases.db --listen :7320 --token-file token --tls-cert cert.pem --tls-key key.pem",
		RunE:    func(cmd *cobra.Command, _ []string) error { return serve(c, cmd, &f) },
	}
	f.AddStore(c, cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:7320", "`address` to listen at")
	flags.StringVar(&f.TokenFile, "token-file", "", "`file` with the token that clients show")
	flags.StringVar(&f.cert, "tls-cert", "", "`file` with the certificate, and those above it; with --tls-key: HTTPS")
	flags.StringVar(&f.key, "tls-key", "", "`file` with the certificate's key")
	flags.StringSliceVar(&f.only, "service", nil, "`name` of a service to serve, repeated; without it, every service that a client asks for")
	flags.IntVar(&f.maxThroughput, "max-throughput", lease.DefaultMaxThroughputPerMs, "`number` of IDs a millisecond that one request may ask for")
	flags.IntVar(&f.maxServices, "max-services", lease.DefaultMaxServices, "`number` of services that neither --service nor --services-file names, at most")
	flags.StringVar(&f.metrics, "metrics", "", "`address` to show metrics at, in Prometheus' format; no token is asked for there")
	flags.StringArrayVar(&f.hosts, "host", nil, "without a token, also answer requests to this `host:port` that a proxy on this machine sends on")
	flags.BoolVar(&f.open, "open", false, "listen to other machines without a token")
	return cmd
}

// serve serves until ctx ends.
func serve(c *shell.Console, cmd *cobra.Command, f *serveFlags) error {
	o, err := f.serveOptions(cmd)
	if err != nil {
		return err
	}
	ctx, log := cmd.Context(), c.Logger()
	l, err := o.Open(ctx, cmd)
	if err != nil {
		return err
	}
	return errors.Join(serveLeases(ctx, c, f, o, l, log), l.Close())
}

func serveLeases(ctx context.Context, c *shell.Console, f *serveFlags, o leasehome.OpenOptions, l *leasehome.Home, log *slog.Logger) error {
	reader := sdk.NewManualReader()
	counted, err := leaseotel.Instrument(l.Provider, sdk.NewMeterProvider(sdk.WithReader(reader)))
	if err != nil {
		return err
	}
	handler, err := leasehttp.NewHandler(loggingProvider{counted, log}, leasehttp.HandlerOptions{
		Tokens: f.tokens, Anonymous: len(f.tokens) == 0, Hosts: f.hosts, Lister: homeLister{l}, Logger: log,
	})
	if err != nil {
		return shell.Invalid(err)
	}
	if f.metrics == "" {
		return listen(ctx, c, f, handler, log)
	}
	listener, err := net.Listen("tcp", f.metrics)
	if err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	pages := access.ProtectOpen(metricsHandler(reader, log, &population{home: l, now: time.Now}), f.hosts)
	metrics := &http.Server{Handler: pages, ReadTimeout: 5 * time.Second, WriteTimeout: 15 * time.Second}
	go func() { _ = metrics.Serve(listener) }() // until it is closed
	log.Info("metrics", "url", "http://"+listener.Addr().String()+"/metrics")
	return errors.Join(listen(ctx, c, f, handler, log), metrics.Close())
}

// listen serves the handler. When ctx ends it finishes the running requests.
func listen(ctx context.Context, c *shell.Console, f *serveFlags, handler http.Handler, log *slog.Logger) error {
	listener, scheme, err := f.newListener()
	if err != nil {
		return err
	}
	server := leasehttp.NewServer(handler)
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if err := c.Write(listenAddress{URL: scheme + "://" + listener.Addr().String()}); err != nil {
		return errors.Join(err, server.Close())
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	log.Info("ending: finishing what is under way")
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		return fmt.Errorf("requests under way were cut off after %v: %w", drain, errors.Join(err, server.Close()))
	}
	return nil
}

// homeLister implements [leasehttp.Lister] and [leasehttp.Enumerator] by a home.
type homeLister struct{ *leasehome.Home }

func (l homeLister) List(ctx context.Context, serviceID string, options lease.ListOptions) (lease.Page, error) {
	return l.Home.List(ctx, serviceID, options)
}

func (l homeLister) Services(ctx context.Context, after string, limit int) ([]string, error) {
	return l.Home.Services(ctx, after, limit)
}

// listenAddress is the address at which the server listens.
type listenAddress struct {
	URL string `json:"url"`
}

func (s listenAddress) Lines() []string { return []string{"serving leases at " + s.URL} }
