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
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/idgen"
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
	flags.IntVar(&f.maxThroughput, "max-throughput", lease.DefaultMaxThroughput, "`number` of IDs a millisecond that one request may ask for")
	flags.IntVar(&f.maxServices, "max-services", lease.DefaultMaxServices, "`number` of services that neither --service nor --services-file names, at most")
	flags.StringVar(&f.metrics, "metrics", "", "`address` to show metrics at, in Prometheus' format; no token is asked for there")
	flags.StringArrayVar(&f.hosts, "host", nil, "without a token, also answer requests to this `host:port` that a proxy on this machine forwards")
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
	handler, err := leasehttp.NewHandler(loggingProvider{counted, l, log}, leasehttp.HandlerOptions{
		Tokens: f.tokens, Anonymous: len(f.tokens) == 0, Hosts: f.hosts, Logger: log,
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

// listenAddress is the address at which the server listens.
type listenAddress struct {
	URL string `json:"url"`
}

func (s listenAddress) Lines() []string { return []string{"serving leases at " + s.URL} }

// serveFlags are the flags of lease serve.
type serveFlags struct {
	leasehome.Flags
	listen, metrics string
	cert, key       string
	only            []string // services
	hosts           []string // values of the header Host
	maxThroughput   int
	maxServices     int
	open            bool

	tokens []leasehttp.Token // read from the file or the environment
}

// serveOptions returns the options that the flags describe, checked.
func (f *serveFlags) serveOptions(cmd *cobra.Command) (leasehome.OpenOptions, error) {
	o, err := f.OpenOptions(cmd)
	if err != nil {
		return o, err
	}
	if scheme, _, _ := strings.Cut(o.At, ":"); scheme == "http" || scheme == "https" {
		return o, shell.Misuse(cmd, errors.New("--leases: name the store, not another server of its leases"))
	}
	o.Serves, o.Creates = true, true
	if f.maxThroughput < 1 {
		return o, shell.Misuse(cmd, fmt.Errorf("--max-throughput %d: it must be 1 or more", f.maxThroughput))
	}
	if f.maxServices < 1 {
		return o, shell.Misuse(cmd, fmt.Errorf("--max-services %d: it must be 1 or more; --service permits no others at all", f.maxServices))
	}
	o.Server.MaxThroughput, o.Server.MaxServices = f.maxThroughput, f.maxServices
	if len(f.only) > 0 {
		o.Server.Services, o.Server.OnlyListed = f.serviceConfigs(o.Server), true
	}
	if err := o.Server.Validate(); err != nil {
		return o, shell.Misuse(cmd, err)
	}
	if (f.cert == "") != (f.key == "") {
		return o, shell.Misuse(cmd, errors.New("--tls-cert and --tls-key go together"))
	}
	if f.tokens, err = leasehome.ReadTokens(f.TokenFile); err != nil {
		return o, err
	}
	if len(f.tokens) == 0 && !f.open && !loopback(f.listen) {
		return o, shell.Misuse(cmd, fmt.Errorf("--listen %s would serve other machines without a token: give --token-file, or --open if something else decides who may connect", f.listen))
	}
	return o, nil
}

// serviceConfigs returns the configurations of the services that --service names.
func (f *serveFlags) serviceConfigs(server lease.Options) map[string]lease.ServiceConfig {
	services := map[string]lease.ServiceConfig{}
	for _, id := range f.only {
		services[id] = server.Default
		if config, ok := server.Services[id]; ok {
			services[id] = config
		}
	}
	return services
}

// loopback reports whether an address can be reached only from this machine.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// newListener listens, with TLS if there is a certificate.
func (f *serveFlags) newListener() (listener net.Listener, scheme string, err error) {
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

// loggingProvider is a provider that logs what it grants and refuses, without secrets.
type loggingProvider struct {
	idgen.LeaseProvider
	leasehome.Lister
	log *slog.Logger
}

// Acquire implements [idgen.LeaseProvider].
func (l loggingProvider) Acquire(ctx context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	leases, err := l.LeaseProvider.Acquire(ctx, req)
	switch {
	case errors.Is(err, lease.ErrInvalid), errors.Is(err, lease.ErrUnknownService): // the texts of the request may be of any length; the error names the fault
		l.log.Warn("refused", "error", explainError(err))
	case err != nil:
		l.log.Warn("refused", "service", req.ServiceID, "throughput", req.Throughput, "holder", leaseHolder(req.Meta), "error", explainError(err))
	}
	for _, g := range leases {
		l.log.Info("granted", "service", req.ServiceID, "machine", g.ID, "bits", g.SequenceBits, "until", stampMs(g.Expired), "holder", leaseHolder(req.Meta))
	}
	return leases, err
}

// Release implements [idgen.LeaseProvider].
func (l loggingProvider) Release(ctx context.Context, req idgen.ReleaseRequest) error {
	err := l.LeaseProvider.Release(ctx, req)
	switch {
	case errors.Is(err, lease.ErrInvalid):
		l.log.Warn("not released", "error", explainError(err))
	case err != nil:
		l.log.Warn("not released", "service", req.ServiceID, "machine", req.ID, "bits", req.SequenceBits, "error", explainError(err))
	default:
		l.log.Info("released", "service", req.ServiceID, "machine", req.ID, "bits", req.SequenceBits)
	}
	return err
}

// leaseHolder is the description of a holder: a map in JSON, words in text.
type leaseHolder map[string]string

// String implements [fmt.Stringer].
func (h leaseHolder) String() string { return strings.TrimPrefix(shell.Pairs(h), " ") }

// metricsHandler serves the metrics of reader and others to Prometheus. Metrics that fail are
// logged, and left out.
func metricsHandler(reader *sdk.ManualReader, log *slog.Logger, others ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{reader})
	registry.MustRegister(others...)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	})
}

// collector gives OpenTelemetry's metrics to Prometheus. OpenTelemetry's own exporter would
// need another version of the compression that the embedded engine uses.
type collector struct{ reader *sdk.ManualReader }

// Describe implements [prometheus.Collector]. It describes nothing: the metrics are known only
// when there are figures.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c collector) Collect(metrics chan<- prometheus.Metric) {
	var all metricdata.ResourceMetrics
	if err := c.reader.Collect(context.Background(), &all); err != nil {
		metrics <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		return
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			collect(metrics, m)
		}
	}
}

// collect converts one metric: a counter or a histogram of seconds.
func collect(metrics chan<- prometheus.Metric, m metricdata.Metrics) {
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			desc, values := series(m, "_total", p.Attributes)
			metrics <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(p.Value), values...)
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			desc, values := series(m, "_seconds", p.Attributes)
			metrics <- prometheus.MustNewConstHistogram(desc, p.Count, p.Sum, buckets(p), values...)
		}
	}
}

// series returns the description of m, and the values of its labels.
func series(m metricdata.Metrics, suffix string, attributes attribute.Set) (desc *prometheus.Desc, values []string) {
	var labels []string
	for _, a := range attributes.ToSlice() {
		labels = append(labels, underscored(string(a.Key)))
		values = append(values, a.Value.String())
	}
	return prometheus.NewDesc(underscored(m.Name)+suffix, m.Description, labels, nil), values
}

func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

// buckets returns, for each bound, the number of values that are not above it.
func buckets(p metricdata.HistogramDataPoint[float64]) map[float64]uint64 {
	counts := make(map[float64]uint64, len(p.Bounds))
	below := uint64(0)
	for i, bound := range p.Bounds {
		below += p.BucketCounts[i]
		counts[bound] = below
	}
	return counts
}

const (
	countEvery  = 15 * time.Second // the age of a count that is made again: not each scrape lists the store
	countWithin = 8 * time.Second  // how long counting may take
	maxCounted  = 1000             // services that are counted
)

var (
	activeDesc = prometheus.NewDesc("kazahana_lease_active", "Leases that are valid, of all servers of the store.",
		[]string{"kazahana_service"}, nil)
	positionsDesc = prometheus.NewDesc("kazahana_lease_active_positions", "Positions of a millisecond that valid leases have: what is leased of the space.",
		[]string{"kazahana_service"}, nil)
)

// population counts the leases that are valid, by service.
type population struct {
	home *leasehome.Home
	now  func() time.Time

	mu      sync.Mutex
	counted time.Time
	active  map[string]active
	err     error
}

// active counts the leases of a service.
type active struct{ leases, positions int64 }

// Describe implements [prometheus.Collector].
func (p *population) Describe(descs chan<- *prometheus.Desc) {
	descs <- activeDesc
	descs <- positionsDesc
}

// Collect implements [prometheus.Collector].
func (p *population) Collect(metrics chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); p.counted.IsZero() || now.Sub(p.counted) >= countEvery {
		p.active, p.err = p.countLeases()
		p.counted = now
	}
	if p.err != nil { // it is logged, and the others are served
		metrics <- prometheus.NewInvalidMetric(activeDesc, p.err)
	}
	for id, a := range p.active {
		metrics <- prometheus.MustNewConstMetric(activeDesc, prometheus.GaugeValue, float64(a.leases), id)
		metrics <- prometheus.MustNewConstMetric(positionsDesc, prometheus.GaugeValue, float64(a.positions), id)
	}
}

// errEnough ends a listing.
var errEnough = errors.New("enough")

// countLeases lists the store. It counts what it can read; the error says what it cannot.
func (p *population) countLeases() (map[string]active, error) {
	ctx, cancel := context.WithTimeout(context.Background(), countWithin)
	defer cancel()
	found := map[string]active{}
	var unread []error
	err := p.home.EachService(ctx, func(id string) error {
		if len(found) == maxCounted {
			return errEnough
		}
		a, err := p.countService(ctx, id)
		switch {
		case errors.Is(err, lease.ErrUnknownService): // it is no longer served
			return nil
		case lease.IsUnreadable(err):
			unread = append(unread, err)
		case err != nil:
			return err
		}
		found[id] = a
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return found, errors.Join(unread...)
}

// countService lists the leases of a service.
func (p *population) countService(ctx context.Context, id string) (a active, err error) {
	err = p.home.EachLease(ctx, id, lease.ListOptions{}, func(info lease.Info) error {
		a.leases++
		a.positions += 1 << info.SequenceBits
		return nil
	})
	return a, err
}
