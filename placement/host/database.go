// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"

	"github.com/kazahana-db/kazahana/kv"
)

// newDatabaseCluster returns the cluster in a database.
func newDatabaseCluster(db kv.Database, o Options) (cluster, error) {
	if db == nil {
		return nil, errors.New("host: the database is nil")
	}
	return nil, errors.New("host: members in a database come with package placement/membership")
}
