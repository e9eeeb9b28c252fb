// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/lease/leaseotel"
)

// drain is how long requests under way may take once the server is to end.
const drain = 10 * time.Second

// serveFlags are those of lease serve.
type serveFlags struct {
	leaseFlags
	listen, metrics string
	cert, key       string
	only            []string // services
	maxThroughput   int
	maxServices     int
	open            bool

	tokens []leasehttp.Token // read from the file or the environment
}

func (c *command) leaseServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve leases over HTTP", Args: shell.Arguments(cobra.NoArgs),
		Long: `Serve leases over HTTP, from any store, until interrupted: requests under way are finished then.
It writes the address once it listens, and what happens to the error output.

Clients show the token that --token-file or KAZAHANA_TOKEN has, 16 characters or more. A file may
have several instead, in JSON, each with what it permits:
  [{"name": "orders", "secret": "…", "services": ["orders"], "maxLeasedPerMs": 65536, "list": true}]
Whoever can acquire leases can use them all up: without a token it listens to this machine alone,
unless --open says that something else decides who may connect.
` + aboutServices + "\n" + aboutLeases,
		Example: "  kazahana lease serve --leases sqlite:leases.db --listen :7320 --token-file token --tls-cert cert.pem --tls-key key.pem",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.serve(cmd, &f) },
	}
	f.addStore(c, cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:7320", "`address` to listen at")
	flags.StringVar(&f.tokenFile, "token-file", "", "`file` with the token that clients show")
	flags.StringVar(&f.cert, "tls-cert", "", "`file` with the certificate, and those above it; with --tls-key: HTTPS")
	flags.StringVar(&f.key, "tls-key", "", "`file` with the certificate's key")
	flags.StringSliceVar(&f.only, "service", nil, "`name` of a service to serve, repeated; otherwise whichever is asked for")
	flags.IntVar(&f.maxThroughput, "max-throughput", lease.DefaultMaxThroughputPerMs, "`number` of IDs a millisecond that one request may ask for")
	flags.IntVar(&f.maxServices, "max-services", lease.DefaultMaxServices, "`number` of services that neither --service nor --services-file names, at most")
	flags.StringVar(&f.metrics, "metrics", "", "`address` to show metrics at, in Prometheus' format; no token is asked for there")
	flags.BoolVar(&f.open, "open", false, "listen to other machines without a token")
	return cmd
}

// serve serves until ctx ends.
func (c *command) serve(cmd *cobra.Command, f *serveFlags) error {
	o, err := f.serveOptions(cmd)
	if err != nil {
		return err
	}
	ctx, log := cmd.Context(), c.Logger()
	l, err := o.open(ctx, cmd)
	if err != nil {
		return err
	}
	return errors.Join(c.serveLeases(ctx, f, o, l, log), l.close())
}

func (c *command) serveLeases(ctx context.Context, f *serveFlags, o openOptions, l *leases, log *slog.Logger) error {
	reader := sdk.NewManualReader()
	counted, err := leaseotel.Instrument(l.provider, sdk.NewMeterProvider(sdk.WithReader(reader)))
	if err != nil {
		return err
	}
	handler, err := leasehttp.NewHandler(logged{counted, log}, leasehttp.HandlerOptions{
		Tokens: f.tokens, Anonymous: len(f.tokens) == 0, Lister: listing{l}, Logger: log,
	})
	if err != nil {
		return shell.Invalid(err)
	}
	if f.metrics == "" {
		return c.listen(ctx, f, handler, log)
	}
	listener, err := net.Listen("tcp", f.metrics)
	if err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	metrics := &http.Server{Handler: metricsHandler(reader, log, &population{leases: l, now: time.Now}), ReadTimeout: 5 * time.Second, WriteTimeout: 15 * time.Second}
	go func() { _ = metrics.Serve(listener) }() // until it is closed
	log.Info("metrics", "url", "http://"+listener.Addr().String()+"/metrics")
	return errors.Join(c.listen(ctx, f, handler, log), metrics.Close())
}

// serveOptions returns what the flags say, checked.
func (f *serveFlags) serveOptions(cmd *cobra.Command) (openOptions, error) {
	o, err := f.options(cmd)
	if err != nil {
		return o, err
	}
	if scheme, _, _ := strings.Cut(o.at, ":"); scheme == "http" || scheme == "https" {
		return o, shell.Misuse(cmd, errors.New("--leases: name the store, not another server of its leases"))
	}
	o.serves, o.creates = true, true
	if f.maxThroughput < 1 {
		return o, shell.Misuse(cmd, fmt.Errorf("--max-throughput %d: it must be 1 or more", f.maxThroughput))
	}
	if f.maxServices < 1 {
		return o, shell.Misuse(cmd, fmt.Errorf("--max-services %d: it must be 1 or more; --service permits no others at all", f.maxServices))
	}
	o.server.MaxThroughputPerMs, o.server.MaxServices = f.maxThroughput, f.maxServices
	if len(f.only) > 0 {
		o.server.Services, o.server.OnlyListed = f.listed(o.server), true
	}
	if err := o.server.Validate(); err != nil {
		return o, shell.Misuse(cmd, err)
	}
	if (f.cert == "") != (f.key == "") {
		return o, shell.Misuse(cmd, errors.New("--tls-cert and --tls-key go together"))
	}
	if f.tokens, err = readTokens(f.tokenFile); err != nil {
		return o, err
	}
	if len(f.tokens) == 0 && !f.open && !loopback(f.listen) {
		return o, shell.Misuse(cmd, fmt.Errorf("--listen %s would serve other machines without a token: give --token-file, or --open if something else decides who may connect", f.listen))
	}
	return o, nil
}

// listed returns the configurations of the services that --service names.
func (f *serveFlags) listed(server lease.Options) map[string]lease.ServiceConfig {
	services := map[string]lease.ServiceConfig{}
	for _, id := range f.only {
		services[id] = server.Default
		if config, ok := server.Services[id]; ok {
			services[id] = config
		}
	}
	return services
}

// loopback reports whether an address is reached from this machine alone.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// listen serves the handler, and finishes what is under way when ctx ends.
func (c *command) listen(ctx context.Context, f *serveFlags, handler http.Handler, log *slog.Logger) error {
	listener, scheme, err := f.listener()
	if err != nil {
		return err
	}
	server := leasehttp.NewServer(handler)
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if err := c.Write(serving{URL: scheme + "://" + listener.Addr().String()}); err != nil {
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

// listener listens, with TLS if there is a certificate.
func (f *serveFlags) listener() (listener net.Listener, scheme string, err error) {
	if f.cert == "" {
		listener, err = net.Listen("tcp", f.listen)
		return listener, "http", err
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, "", fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	listener, err = tls.Listen("tcp", f.listen, &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	})
	return listener, "https", err
}

// listing is what the server lists: it implements [leasehttp.Lister] and
// [leasehttp.Enumerator].
type listing struct{ *leases }

func (l listing) List(ctx context.Context, serviceID string, options lease.ListOptions) (lease.Page, error) {
	return l.list(ctx, serviceID, options)
}

func (l listing) Services(ctx context.Context, after string, limit int) ([]string, error) {
	return l.services(ctx, after, limit)
}

// serving is where the server listens.
type serving struct {
	URL string `json:"url"`
}

func (s serving) Lines() []string { return []string{"serving leases at " + s.URL} }
