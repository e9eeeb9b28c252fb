// SPDX-License-Identifier: Apache-2.0

package entpeer

//go:generate go tool ent generate --target ./ent ./schema
