// SPDX-License-Identifier: Apache-2.0

package leasehome

import "context"

// homes has the functions that open each kind of place, by the scheme of its name.
var homes = map[string]func(ctx context.Context, o OpenOptions) (*Home, error){
	"memory":   openMemory,
	"sqlite":   openSQLite,
	"redis":    openRedis,
	"rediss":   openRedis,
	"embedded": openEmbedded,
	"fdb":      openFDB,
	"http":     openHTTP,
	"https":    openHTTP,
}
