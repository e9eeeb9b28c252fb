// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// IDs returns the generator of the DB: the client that leases from the database,
// or the one given in [IDOptions], or else [idgen.Default].
func (db *DB) IDs() idgen.Generator {
	db.mustBeOpen()
	switch {
	case db.ids.client != nil:
		return db.ids.client
	case db.ids.options.Generator != nil:
		return db.ids.options.Generator
	}
	return idgen.Default()
}

// Leases returns the provider from which the DB leases machine ids, for example to
// list them; nil if it leases none.
func (db *DB) Leases() *leasefdb.Provider {
	db.mustBeOpen()
	return db.ids.provider
}

// Close releases the machine ids that the DB has leased, so that other processes
// can lease them at once, and uninstalls its generator. Stores still work, but make
// no new ids. The engine stays open; close it afterwards. The leases of a DB that is
// not closed end by themselves, after ten minutes by default. Close waits for the
// database for up to five seconds. A second call does nothing.
func (db *DB) Close() error {
	db.mustBeOpen()
	return db.ids.close()
}
