// SPDX-License-Identifier: Apache-2.0

package mysql_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/mysql"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/servers"
)

// workURL is the environment variable with the database of a process that the
// suite starts.
const workURL = "KAZAHANA_MYSQL_WORK"

func TestMain(m *testing.M) {
	if url := os.Getenv(workURL); url != "" {
		if err := work(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func work(url string) error {
	s, err := mysql.Open(mysql.Options{URL: url})
	if err != nil {
		return err
	}
	return storetest.Work(context.Background(), s, os.Stdout)
}

// open opens a database of a server that syncs nothing.
func open(t *testing.T, url string) *mysql.Store {
	t.Helper()
	return openWith(t, mysql.Options{URL: url, AcceptLoss: true, MaxConnections: 5})
}

func openWith(t *testing.T, o mysql.Options) *mysql.Store {
	t.Helper()
	s, err := mysql.Open(o)
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// password is the store's user's, in the form of a URL.
const password = "p%40ss%2Fw%3Ard"

// newDatabase makes a database, and a user with the rights that the documentation
// asks for, and returns its URL.
func newDatabase(t *testing.T, server *servers.SQL) string {
	t.Helper()
	url := server.NewDatabase(t)
	name := url[strings.LastIndex(url, "/")+1:]
	server.Execute(t, "CREATE OR REPLACE USER "+name+" IDENTIFIED BY 'p@ss/w:rd'")
	server.Execute(t, "GRANT CREATE, INDEX, SELECT, INSERT, UPDATE, DELETE ON "+name+".* TO "+name)
	return server.URL(name, password, name)
}

// media are databases by the names of media.
type media struct {
	server *servers.SQL
	urls   map[string]string
}

func (m *media) url(t *testing.T, name string) string {
	t.Helper()
	if m.urls[name] == "" {
		m.urls[name] = newDatabase(t, m.server)
	}
	return m.urls[name]
}

// database returns the name of the database of a URL.
func database(url string) string { return url[strings.LastIndex(url, "/")+1:] }

func TestStore(t *testing.T) {
	m := &media{server: servers.MariaDB(t), urls: map[string]string{}}
	storetest.Run(t, storetest.Suite{
		Open: func(t *testing.T, name string) store.Store { return open(t, m.url(t, name)) },
		Process: func(t *testing.T, name string) *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), workURL+"="+m.url(t, name))
			return cmd
		},
		SetSchema: func(t *testing.T, name string, version int) {
			m.server.Execute(t, fmt.Sprintf("INSERT INTO %s.schema_versions (version) VALUES (%d)", database(m.url(t, name)), version))
		},
		SetReadOnly: func(t *testing.T, _ string) func() {
			m.server.Execute(t, "SET GLOBAL read_only = ON")
			return func() { m.server.Execute(t, "SET GLOBAL read_only = OFF") }
		},
	})
}
