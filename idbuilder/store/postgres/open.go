// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/sqlstore"
)

// Store is a [store.Store] in a PostgreSQL database.
type Store struct{ *sqlstore.Store }

var _ store.Store = (*Store)(nil)

// Open returns a store. It connects when the first call needs it to.
func Open(o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	limits := o.limits().WithDefaults()
	config, err := o.parseURL()
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.ConnConfig.ConnectTimeout = int32(limits.Connections), limits.Connect
	config.MinConns, config.MinIdleConns = 0, 0
	config.AfterConnect = prepareSession
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "idbuilder"
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	s := &server{executor: executor{pool}, pool: pool, acceptLoss: o.AcceptLoss}
	return &Store{sqlstore.New(s, dialect, limits)}, nil
}

// session makes the settings that calls rely on: commits are on disk when they are
// acknowledged, and each statement sees all earlier commits. The server ends the
// transaction of a process that has stopped.
const session = `SELECT
	set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on' ELSE current_setting('synchronous_commit') END, false),
	set_config('default_transaction_isolation', 'read committed', false),
	set_config('idle_in_transaction_session_timeout', '30000', false)`

func prepareSession(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, session)
	return err
}

// Options configure a store. All but URL have useful zero values.
type Options struct {
	// URL of the database: postgres://user:password@host:port/database, with
	// parameters of libpq such as sslmode=verify-full. Errors do not show it.
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
	_, err := o.parseURL()
	return errors.Join(err, o.limits().Validate("postgres"))
}

func (o Options) limits() sqlstore.Limits {
	return sqlstore.Limits{Connections: o.MaxConnections, Connect: o.ConnectTimeout, Call: o.CallTimeout, Init: o.InitTimeout}
}

// parseURL returns the configuration of a pool that the URL names.
func (o Options) parseURL() (*pgxpool.Config, error) {
	secrets, err := passwords(o.URL)
	if err != nil {
		return nil, errors.New("postgres: the URL (not shown, as it may have a password) is not of the form postgres://user:password@host:port/database; special characters in it are written %xx")
	}
	config, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("postgres: the URL: %s", redact(err.Error(), secrets))
	}
	return config, nil
}

// passwords returns the passwords in a URL, as they are written there and as they
// are. The URL may name several hosts, which net/url does not know.
func passwords(text string) (secrets []string, err error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || scheme != "postgres" && scheme != "postgresql" {
		return nil, errors.New("no such URL")
	}
	front, query, _ := strings.Cut(rest, "?")
	if at := strings.LastIndex(front, "@"); at >= 0 {
		_, password, _ := strings.Cut(front[:at], ":")
		secrets = append(secrets, password)
	}
	for parameter := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(parameter, "="); strings.Contains(name, "password") {
			secrets = append(secrets, value)
		}
	}
	for _, secret := range secrets {
		plain, unescaped := url.PathUnescape(secret)
		secrets, err = append(secrets, plain), errors.Join(err, unescaped)
	}
	return secrets, err
}

// redact removes secrets from a text.
func redact(text string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "xxxxx")
		}
	}
	return text
}
