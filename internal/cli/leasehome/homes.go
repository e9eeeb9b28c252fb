// SPDX-License-Identifier: Apache-2.0

package leasehome

import "context"

// homes are the kinds of places, by the scheme of what names them.
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
