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

// Leases returns the provider from which the DB leases machine ids, for
// listings of them and the like; nil if it leases none.
func (db *DB) Leases() *leasefdb.Provider {
	db.mustBeOpen()
	return db.ids.provider
}

// Close gives back what the DB has leased, so that others can have it at once,
// and takes its generator back as the default. Stores still work, but for
// making new ids; the engine stays open, and is to be closed afterwards. A DB
// that is not closed gives nothing back: its leases end by themselves, after
// ten minutes by default. Close waits for the database for up to five seconds.
// Calling it again does nothing.
func (db *DB) Close() error {
	db.mustBeOpen()
	return db.ids.close()
}
