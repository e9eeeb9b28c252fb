// SPDX-License-Identifier: Apache-2.0

package http2

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/kazahana-db/kazahana/placement/host"
)

// The defaults of [Options].
const (
	DefaultMaxRequests = 10_000
	DefaultMaxBytes    = 256 << 20
	DefaultDialTimeout = 5 * time.Second
)

// Options configure a [Transport]. The zero value is ready to use.
type Options struct {
	// Advertise is the address under which other processes reach this one,
	// host:port. The default value is the address on which the transport listens; it
	// must be set if that is not the address of one host, such as 0.0.0.0.
	Advertise string
	// ServerTLS and ClientTLS make the transport speak TLS. Both are given, or
	// neither: HTTP/2 in the clear. A Transport that only calls needs no ServerTLS. ServerTLS must make callers
	// show a certificate that is verified, by ClientAuth tls.RequireAndVerifyClientCert, or
	// tls.RequireAnyClientCert with a VerifyPeerCertificate or VerifyConnection: otherwise a process that
	// reaches the transport could call every actor. A GetConfigForClient sees to that itself; a caller without
	// a certificate is refused all the same.
	ServerTLS *tls.Config
	ClientTLS *tls.Config
	// NamedCertificates makes this process verify that the certificate of a process that it calls is for the name of
	// the member, as a DNS name, instead of for its address. So a process with a valid certificate that gets the
	// address of another one gets none of its calls. Names of members must be DNS names then. It needs ClientTLS.
	NamedCertificates bool
	// MaxPayload bounds arguments and results in bytes; host.Options has the same
	// bound. The default value is host.DefaultMaxPayload.
	MaxPayload int
	// MaxRequests bounds the requests that are served at once. Others are refused with
	// host.ErrOverloaded. The default value is DefaultMaxRequests.
	MaxRequests int
	// MaxBytes bounds the bytes that requests keep in memory here: those of the requests that are
	// served, and those of replies that their callers have not read yet. A request for which
	// there is no room is refused with host.ErrOverloaded before it is read. It must have room for one request of
	// MaxPayload bytes and a head of one MiB. The default value is DefaultMaxBytes, or that room if it is more.
	MaxBytes int
	// DialTimeout bounds the making of a connection. The default value is
	// DefaultDialTimeout.
	DialTimeout time.Duration
	// Logger gets the errors of connections: the default value is slog.Default().
	Logger *slog.Logger
}

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	if o.Advertise != "" {
		if _, port, err := net.SplitHostPort(o.Advertise); err != nil || port == "" || port == "0" {
			faults = append(faults, fmt.Errorf("http2: the advertised address %q must be like host:port", o.Advertise))
		}
	}
	if o.ServerTLS != nil && o.ClientTLS == nil {
		faults = append(faults, errors.New("http2: ServerTLS needs ClientTLS: the transport also calls others"))
	}
	if o.ServerTLS != nil && !authenticatesCallers(o.ServerTLS) {
		faults = append(faults, errors.New("http2: ServerTLS lets callers without a certificate in: set its ClientAuth to tls.RequireAndVerifyClientCert, and its ClientCAs"))
	}
	if o.NamedCertificates && o.ClientTLS == nil {
		faults = append(faults, errors.New("http2: NamedCertificates needs ClientTLS: without TLS there are no certificates"))
	}
	if o.MaxPayload < 0 || o.MaxRequests < 0 || o.DialTimeout < 0 {
		faults = append(faults, fmt.Errorf("http2: payloads of %d bytes, %d requests and a dial timeout of %v must not be negative", o.MaxPayload, o.MaxRequests, o.DialTimeout))
	}
	if most := o.withDefaults().maxBody(); o.MaxBytes != 0 && int64(o.MaxBytes) < most {
		faults = append(faults, fmt.Errorf("http2: MaxBytes is %d; a request of MaxPayload bytes needs %d", o.MaxBytes, most))
	}
	return errors.Join(faults...)
}

// authenticatesCallers reports whether a configuration verifies the certificates of callers, or leaves that to
// functions of the program.
func authenticatesCallers(c *tls.Config) bool {
	verifies := c.VerifyPeerCertificate != nil || c.VerifyConnection != nil
	return c.GetConfigForClient != nil || c.ClientAuth == tls.RequireAndVerifyClientCert || c.ClientAuth == tls.RequireAnyClientCert && verifies
}

// maxBody returns the bound of the body of a request or a reply.
func (o Options) maxBody() int64 { return int64(o.MaxPayload) + maxFrame }

func (o Options) withDefaults() Options {
	if o.MaxPayload == 0 {
		o.MaxPayload = host.DefaultMaxPayload
	}
	if o.MaxRequests == 0 {
		o.MaxRequests = DefaultMaxRequests
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = int(max(DefaultMaxBytes, o.maxBody()))
	}
	if o.DialTimeout == 0 {
		o.DialTimeout = DefaultDialTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	// net/http changes the configurations that it gets.
	o.ServerTLS, o.ClientTLS = o.ServerTLS.Clone(), o.ClientTLS.Clone()
	return o
}
