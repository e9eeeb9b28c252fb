// SPDX-License-Identifier: Apache-2.0

package mysql_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store/mysql"
	"github.com/kazahana-db/kazahana/internal/servers"
)

// TestPassword checks that no error has a password in it.
func TestPassword(t *testing.T) {
	for _, url := range []string{
		"",
		"u:secret@tcp(127.0.0.1)/db",
		"mysql:u:secret@127.0.0.1/db",
		"mysql://u:secret%zz@127.0.0.1/db",
		"mysql://u:secret@127.0.0.1:port/db",
		"mysql://u:secret@127.0.0.1",
		"mysql://u:secret@/db",
		"mysql://u:secret@127.0.0.1/db?ssl-mode=none",
		"mysql://u:secret@127.0.0.1/db?charset=utf8",
		"mysql://u:secret@127.0.0.1/db?a%zz",
		"mysql://u:secret@127.0.0.1/db?ssl-mode=verify_ca&ssl-ca=/none",
		"mysql://u:pa/secret@127.0.0.1/db",
		"postgres://u:secret@127.0.0.1/db",
	} {
		_, err := mysql.Open(mysql.Options{URL: url})
		switch {
		case err == nil:
			t.Errorf("%q was accepted", url)
		case strings.Contains(err.Error(), "secret"):
			t.Errorf("%q: the error has the password: %v", url, err)
		case !strings.Contains(err.Error(), "URL"):
			t.Errorf("%q: the error does not say that it is about the URL: %v", url, err)
		}
	}
	for _, addr := range []string{"127.0.0.1:1", "host.invalid", servers.MariaDB(t).Addr} {
		s := openWith(t, mysql.Options{URL: "mysql://nobody:secret@" + addr + "/none", ConnectTimeout: 5 * time.Second})
		if err := s.Init(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestOptions(t *testing.T) {
	err := mysql.Options{URL: "ftp://x", MaxConnections: -1, CallTimeout: -1}.Validate()
	for _, part := range []string{"URL", "MaxConnections is -1, allowed are 1 to 10000", "CallTimeout"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %q: %v", part, err)
		}
	}
	for _, url := range []string{"mysql://localhost/db", "mariadb://u:p@[::1]:3307/db?ssl-mode=required", "mysql://u@/db?socket=/run/mysqld/mysqld.sock"} {
		check(t, mysql.Options{URL: url}.Validate())
	}
}
