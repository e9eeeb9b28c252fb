// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	leasehttp "github.com/kazahana-db/kazahana/lease/http"
)

// TestServicesOfTokens: a token with an empty or null list of services does not hold for every service.
func TestServicesOfTokens(t *testing.T) {
	for services, fails := range map[string]bool{``: false, `, "services": ["a"]`: false, `, "services": []`: true, `, "services": null`: true, `, "Services": null`: true} {
		file := filepath.Join(t.TempDir(), "tokens.json")
		if err := os.WriteFile(file, []byte(`[{"name": "a", "secret": "a-secret-of-the-tests"`+services+`}]`), 0o600); err != nil {
			t.Fatal(err)
		}
		tokens, err := ReadTokens(file)
		if err == nil {
			err = leasehttp.HandlerOptions{Tokens: tokens}.Validate()
		}
		if (err != nil) != fails {
			t.Errorf("%s: %v", services, err)
		}
	}
}

func TestHasPassword(t *testing.T) {
	for at, want := range map[string]bool{
		"redis://host:6379": false, "redis://user@host": false, "redis://user:secret@host": true, "redis://:secret@host/0": true,
		"https://host/a:b@c": false, "sqlite:a:b@c.db": false,
	} {
		if got := hasPassword(at); got != want {
			t.Errorf("hasPassword(%q) = %v", at, got)
		}
	}
}

// TestAboutNamesEachHome looks for each kind of place in the help text of --leases. A
// place with TLS is named by its line, or instead of the one without.
func TestAboutNamesEachHome(t *testing.T) {
	for scheme := range homes {
		if !strings.Contains(About, scheme+":") && !strings.Contains(About, scheme+"s:") {
			t.Errorf("the help text does not say how to name a place by %s:", scheme)
		}
	}
}
