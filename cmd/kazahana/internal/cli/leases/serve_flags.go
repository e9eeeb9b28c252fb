// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
)

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
	o.Server.MaxThroughputPerMs, o.Server.MaxServices = f.maxThroughput, f.maxServices
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
