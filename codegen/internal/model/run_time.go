// SPDX-License-Identifier: Apache-2.0

package model

// Import paths of the run-time.
const (
	modulePath      = "github.com/kazahana-db/kazahana"
	PersistablePath = modulePath + "/persistable"
	PersistimplPath = modulePath + "/persistable/persistimpl"
	WirePath        = modulePath + "/persistable/wire"
	IndexPath       = modulePath + "/index"
	IDGenPath       = modulePath + "/idgen"
	TuplePath       = modulePath + "/tuple"
	ULIDPath        = "github.com/oklog/ulid/v2"
)
