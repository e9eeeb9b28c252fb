// SPDX-License-Identifier: Apache-2.0

package fdbkv

import (
	"errors"
	"fmt"
	"log/slog"
)

// Format implements [fmt.Formatter]: it prints like any struct, except that the
// private key and its password are left out.
func (t TLS) Format(f fmt.State, verb rune) {
	type tls = TLS
	type TLS tls // without methods; the name is what %#v prints
	fmt.Fprintf(f, fmt.FormatString(f, verb), TLS(t.public()))
}

// LogValue implements [slog.LogValuer]: it is logged without the private key and
// its password.
func (t TLS) LogValue() slog.Value {
	type plain TLS
	return slog.AnyValue(plain(t.public()))
}

// public returns t without secrets.
func (t TLS) public() TLS {
	if t.Password != "" {
		t.Password = "[redacted]"
	}
	t.KeyPEM = nil
	return t
}

// TLS names the certificates of the process. Each is given as a file, which the
// client reads again when it changes, or as bytes. The cluster file says whether
// TLS is used: its addresses end in ":tls".
type TLS struct {
	CertFile string // PEM: the certificate with those that lead to a root
	CertPEM  []byte
	KeyFile  string // PEM: the private key
	KeyPEM   []byte
	CAFile   string // PEM: the roots that peers are checked against; "": those of the system
	CAPEM    []byte
	Password string // of the private key
	// VerifyPeers says which peers are trusted, in FoundationDB's notation such
	// as "Check.Valid=1,S.CN=db.example.org". "": any that the roots vouch for.
	VerifyPeers string
}

func (t TLS) validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("fdbkv: TLS: "+format, args...)) }
	for _, part := range []struct {
		name, file string
		pem        []byte
	}{{"Cert", t.CertFile, t.CertPEM}, {"Key", t.KeyFile, t.KeyPEM}, {"CA", t.CAFile, t.CAPEM}} {
		if part.file != "" && len(part.pem) > 0 {
			fault("%sFile and %sPEM are both given; give one", part.name, part.name)
		}
		errs = append(errs, exists("TLS: "+part.name+"File", part.file, false))
	}
	cert, key := t.CertFile != "" || len(t.CertPEM) > 0, t.KeyFile != "" || len(t.KeyPEM) > 0
	if cert != key {
		fault("a certificate needs its key and a key its certificate; if one file has both, name it twice")
	}
	if t.Password != "" && !key {
		fault("Password is given without a key")
	}
	return errors.Join(errs...)
}
