// SPDX-License-Identifier: Apache-2.0

package fdbkv_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

func TestOptionsAreValidated(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, tt := range []struct {
		name    string
		options fdbkv.Options
		want    []string // in the error
	}{
		{"zero", fdbkv.Options{}, nil},
		{"in range", fdbkv.Options{Transactions: kv.TransactionOptions{Timeout: time.Second, RetryLimit: 3, MaxRetryDelay: time.Minute, SizeLimit: 32}, MaxWatches: 1}, nil},
		{
			"out of range",
			fdbkv.Options{Transactions: kv.TransactionOptions{Timeout: time.Microsecond, MaxRetryDelay: -1, RetryLimit: -1, SizeLimit: 31}, MaxWatches: -2, LocationCacheSize: 1 << 40},
			[]string{"Timeout", "MaxRetryDelay", "RetryLimit", "SizeLimit", "MaxWatches", "LocationCacheSize"},
		},
		{"files that are not there", fdbkv.Options{Network: fdbkv.Network{
			TLS:   fdbkv.TLS{CertFile: missing, KeyFile: missing, CAFile: missing},
			Trace: fdbkv.Trace{Dir: missing}, ExternalClientDirectory: missing, ExternalClientLibraries: []string{missing}, TempDir: missing,
		}}, []string{"CertFile", "KeyFile", "CAFile", "Trace: Dir", "ExternalClientDirectory", "ExternalClientLibraries", "TempDir"}},
		{"a folder for a file", fdbkv.Options{Network: fdbkv.Network{TLS: fdbkv.TLS{CAFile: t.TempDir()}}}, []string{"is a folder"}},
		{"a certificate alone", fdbkv.Options{Network: fdbkv.Network{TLS: fdbkv.TLS{CertPEM: []byte("c")}}}, []string{"needs its key"}},
		{"a password alone", fdbkv.Options{Network: fdbkv.Network{TLS: fdbkv.TLS{Password: "p"}}}, []string{"without a key"}},
		{"both forms", fdbkv.Options{Network: fdbkv.Network{TLS: fdbkv.TLS{CAFile: "options.go", CAPEM: []byte("c")}}}, []string{"both given"}},
		{
			"logging nowhere",
			fdbkv.Options{Network: fdbkv.Network{Trace: fdbkv.Trace{Format: "yaml", ClockSource: "sun", RollSize: -1}}},
			[]string{"Format", "ClockSource", "RollSize", "Dir is empty"},
		},
		{"threads of no client", fdbkv.Options{Network: fdbkv.Network{ClientThreads: 2, DisableLocalClient: true}}, []string{"ClientThreads", "DisableLocalClient"}},
	} {
		err := tt.options.Validate()
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%s: Validate = %v", tt.name, err)
			continue
		}
		for _, word := range tt.want {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: Validate does not speak of %s: %v", tt.name, word, err)
			}
		}
	}
}
