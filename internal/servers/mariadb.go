// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
)

var sharedMariaDB = sync.OnceValues(func() (*SQL, error) { return startMariaDB(nil) })

// MariaDB returns the MariaDB that this test binary shares: a test makes a
// database of its own. It syncs nothing to disk. Do not stop it.
func MariaDB(tb testing.TB) *SQL {
	tb.Helper()
	return must(tb, sharedMariaDB, mariaDBProgram, "mariadb-server", "mariadb")
}

// StartMariaDB starts a MariaDB of the test's own, with further arguments for
// mariadbd, such as "--innodb-flush-log-at-trx-commit=1".
func StartMariaDB(tb testing.TB, args ...string) *SQL {
	tb.Helper()
	s := must(tb, func() (*SQL, error) { return startMariaDB(args) }, mariaDBProgram, "mariadb-server", "mariadb")
	killAtEnd(tb, s.Server)
	return s
}

func mariaDBProgram() (string, error) { return find([]string{"mariadbd"}, "/usr/sbin", "/usr/libexec") }

func startMariaDB(args []string) (*SQL, error) {
	program, err := mariaDBProgram()
	if err != nil {
		return nil, err
	}
	install, err := find([]string{"mariadb-install-db"})
	if err != nil {
		return nil, err
	}
	account, err := lookUp("mysql")
	if err != nil {
		return nil, err
	}
	folder, err := newFolder("mariadb", account)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(folder, "data")
	// A server that starts removes every temporary table from its temporary
	// folder, those of other servers too, so each server has a folder of its own.
	// The sizes are small, so that a start takes a moment. Asynchronous I/O is off:
	// the kernel has few requests of it for all servers of a machine.
	common := []string{"--no-defaults", "--datadir=" + data, "--tmpdir=" + folder, "--innodb-log-file-size=8M", "--innodb-buffer-pool-size=32M", "--innodb-use-native-aio=0"}
	server, err := newServer(account, folder, kind{
		prepare: [][]string{append([]string{install}, append(common,
			"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0")...)},
		args: func(port int) []string {
			return append(append([]string{program}, common...), append([]string{
				"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", port), "--socket=" + filepath.Join(folder, "s"),
				"--pid-file=" + filepath.Join(folder, "pid"), "--skip-name-resolve", "--max-connections=500",
				"--innodb-flush-log-at-trx-commit=2", "--skip-log-bin", "--performance-schema=off", "--default-time-zone=+00:00",
			}, args...)...)
		},
		check: func(ctx context.Context, addr string) error {
			return executeMySQL(ctx, fmt.Sprintf("mysql://root@%s/mysql", addr), "DO 1")
		},
	})
	if err != nil {
		return nil, err
	}
	return &SQL{Server: server, User: "root", scheme: "mysql", execute: executeMySQL}, nil
}

// executeMySQL executes a statement at an address in the form of a URL.
func executeMySQL(ctx context.Context, address, statement string) error {
	parsed, err := url.Parse(address)
	if err != nil {
		return err
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName = "tcp", parsed.Host, parsed.Path[1:]
	config.User = parsed.User.Username()
	config.Logger = &mysql.NopLogger{} // a server that starts does not answer yet
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(ctx, statement)
	return err
}
