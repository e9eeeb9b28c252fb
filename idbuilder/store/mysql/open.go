// SPDX-License-Identifier: Apache-2.0

package mysql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/sqlstore"
)

// Store is a [store.Store] in a database of MySQL or MariaDB.
type Store struct{ *sqlstore.Store }

var _ store.Store = (*Store)(nil)

// Open returns a store. It connects when the first call needs it to.
func Open(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	limits := o.limits().WithDefaults()
	config, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	config.Timeout = limits.Connect
	inner, err := driver.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("mysql: %w", err)
	}
	db := sql.OpenDB(connector{inner})
	db.SetMaxOpenConns(limits.Connections)
	db.SetMaxIdleConns(limits.Connections)
	s := &server{executor: executor{db}, db: db, idle: limits.Connections, acceptLoss: o.AcceptLoss}
	return &Store{sqlstore.New(s, dialect, limits)}, nil
}

// connector sets the isolation level of sessions, which servers know by
// different variables.
type connector struct{ sqldriver.Connector }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	execer, ok := conn.(sqldriver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("mysql: the driver executes no statements"), conn.Close())
	}
	if _, err := execer.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Options configure a store. All but URL have useful zero values.
type Options struct {
	// URL of the database: mysql://user:password@host:port/database, with the
	// parameters ssl-mode (disabled, preferred, required, verify_ca,
	// verify_identity; preferred if there is none), ssl-ca (a file with the
	// authority's certificate) and socket (the path of a Unix socket, instead of
	// host and port). Errors do not show it.
	URL string
	// MaxConnections of this process to the server. The default value is 10.
	MaxConnections int
	// ConnectTimeout is for how long an attempt to connect may take. The default
	// value is 5 s.
	ConnectTimeout time.Duration
	// CallTimeout is for how long a call may take if its context does not end
	// before. The default value is 10 s.
	CallTimeout time.Duration
	// InitTimeout is the same for Init, which may wait for a migration by
	// another process. The default value is 1 min.
	InitTimeout time.Duration
	// AcceptLoss lets Init accept a server that may lose what it has acknowledged
	// when its machine crashes. Numbers may then be given twice.
	AcceptLoss bool
}

// Validate reports all that is wrong with the options.
func (o Options) Validate() error {
	_, err := parse(o.URL)
	return errors.Join(err, o.limits().Validate("mysql"))
}

func (o Options) limits() sqlstore.Limits {
	return sqlstore.Limits{Connections: o.MaxConnections, Connect: o.ConnectTimeout, Call: o.CallTimeout, Init: o.InitTimeout}
}

// parse returns the configuration of the driver that a URL stands for.
func parse(text string) (*driver.Config, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" && u.Scheme != "mariadb" || u.Opaque != "" {
		return nil, errors.New("mysql: the URL (not shown, as it may have a password) is not of the form mysql://user:password@host:port/database; special characters in it are written %xx")
	}
	config := driver.NewConfig()
	config.Net, config.Addr = "tcp", net.JoinHostPort(u.Hostname(), portOf(u))
	config.DBName = strings.TrimPrefix(u.Path, "/")
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	if config.DBName == "" || u.Hostname() == "" && !u.Query().Has("socket") {
		return nil, errors.New("mysql: the URL names no host or no database: mysql://user:password@host:port/database")
	}
	setSession(config)
	return config, errors.Join(config.Apply(driver.BeforeConnect(keepConfig)), setParameters(config, u))
}

// keepConfig changes nothing. That there is such a function makes the driver copy the
// configuration for each connection. Without it, all connections share one, and with
// ssl-mode=preferred the first server without TLS turns TLS off for all later ones, in
// a write that other connections race with (seen in v1.10.1).
func keepConfig(context.Context, *driver.Config) error { return nil }

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return "3306"
}

// setSession makes the settings that calls rely on. The driver puts arguments into the
// statement, which saves the round trips of preparing it; that is safe in utf8mb4.
func setSession(config *driver.Config) {
	config.InterpolateParams, config.ClientFoundRows = true, true
	config.ParseTime, config.Loc = true, time.UTC
	config.Logger = &driver.NopLogger{} // it also returns the errors that it would log
	config.Params = map[string]string{
		"autocommit": "1", // with another default of the server, changes would need a commit
		"time_zone":  "'+00:00'",
		"sql_mode":   "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
	}
}

// setParameters applies the parameters of a URL.
func setParameters(config *driver.Config, u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("mysql: the parameters of the URL cannot be parsed")
	}
	for name := range query {
		switch name {
		case "ssl-mode", "ssl-ca":
		case "socket":
			config.Net, config.Addr = "unix", query.Get(name)
		default:
			return fmt.Errorf("mysql: the URL has the parameter %q; allowed are ssl-mode, ssl-ca and socket", name)
		}
	}
	return setTLS(config, query.Get("ssl-mode"), query.Get("ssl-ca"), u.Hostname())
}

func setTLS(config *driver.Config, mode, ca, host string) error {
	switch strings.ToLower(mode) {
	case "disabled":
		return nil
	case "", "preferred":
		config.TLSConfig = "preferred"
		return nil
	case "required":
		config.TLS = &tls.Config{InsecureSkipVerify: true} // encrypts, as the mode's name says, and no more
		return nil
	case "verify_ca", "verify_identity":
	default:
		return fmt.Errorf("mysql: the URL's ssl-mode is %q; allowed are disabled, preferred, required, verify_ca and verify_identity", mode)
	}
	config.TLS = &tls.Config{ServerName: host}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return fmt.Errorf("mysql: the URL's ssl-ca: %w", err)
		}
		config.TLS.RootCAs = x509.NewCertPool()
		if !config.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("mysql: the URL's ssl-ca: %s has no certificate", ca)
		}
	}
	if strings.EqualFold(mode, "verify_ca") {
		verifyChain(config.TLS)
	}
	return nil
}

// verifyChain checks the signatures of a certificate, and not its host name.
func verifyChain(config *tls.Config) {
	config.InsecureSkipVerify = true
	config.VerifyConnection = func(state tls.ConnectionState) error {
		options := x509.VerifyOptions{Roots: config.RootCAs, Intermediates: x509.NewCertPool()}
		for _, certificate := range state.PeerCertificates[1:] {
			options.Intermediates.AddCert(certificate)
		}
		_, err := state.PeerCertificates[0].Verify(options)
		return err
	}
}
