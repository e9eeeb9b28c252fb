// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package sqlite

import (
	"fmt"
	"net/url"

	_ "github.com/mattn/go-sqlite3" // the driver
)

// HasNative reports whether the program was built with cgo, and so can open [Native].
const HasNative = true

// nativeSource is the database in SQLite's own code, tuned.
func nativeSource(file, lock string) source {
	options := url.Values{
		"_txlock": {lock}, "_busy_timeout": {"10000"}, "_journal_mode": {"WAL"}, "_synchronous": {"FULL"},
		"_foreign_keys": {"1"}, "_cache_size": {"-262144"},
	}
	return source{"sqlite3", fmt.Sprintf("file:%s?%s", file, options.Encode())}
}
