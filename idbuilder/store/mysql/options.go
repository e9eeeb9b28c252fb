// SPDX-License-Identifier: Apache-2.0

package mysql

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store/internal/sqlstore"
)

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
