// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store/postgres"
	"github.com/kazahana-db/kazahana/internal/servers"
)

// TestPassword checks that no error has a password in it.
func TestPassword(t *testing.T) {
	for _, url := range []string{
		"",
		"host=localhost user=u password=secret%zz",
		"postgres://u:secret%zz@127.0.0.1/db",
		"postgres://u:secret@127.0.0.1:port/db",
		"postgres://u:secret@127.0.0.1/db?sslmode=secret",
		"postgres://u:se%63ret@127.0.0.1/db?sslmode=secret",
		"postgres://u@127.0.0.1/db?password=secret&connect_timeout=secret",
		"postgres://u@127.0.0.1/db?sslmode=require&sslkey=none&sslcert=none&sslpassword=secret",
		"postgres://u:secret@127.0.0.1/db?pool_max_conns=secret",
		"postgres://u:pa/secret@127.0.0.1/db",
		"mysql://u:secret@127.0.0.1/db",
	} {
		_, err := postgres.Open(postgres.Options{URL: url})
		switch {
		case err == nil:
			t.Errorf("%q was accepted", url)
		case strings.Contains(err.Error(), "secret"):
			t.Errorf("%q: the error has the password: %v", url, err)
		case !strings.Contains(err.Error(), "URL"):
			t.Errorf("%q: the error does not say that it is about the URL: %v", url, err)
		}
	}
	for _, addr := range []string{"127.0.0.1:1", "host.invalid", servers.Postgres(t).Addr} {
		s := openWith(t, postgres.Options{URL: "postgres://nobody:secret@" + addr + "/none?sslmode=disable", ConnectTimeout: 5 * time.Second})
		if err := s.Init(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestOptions(t *testing.T) {
	err := postgres.Options{URL: "ftp://x", MaxConnections: -1, CallTimeout: -1}.Validate()
	for _, part := range []string{"URL", "MaxConnections is -1, allowed are 1 to 10000", "CallTimeout"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %q: %v", part, err)
		}
	}
	for _, url := range []string{"postgresql://localhost/db", "postgres://u:p@first:5432,second:5433/db?target_session_attrs=read-write"} {
		check(t, postgres.Options{URL: url}.Validate())
	}
}
