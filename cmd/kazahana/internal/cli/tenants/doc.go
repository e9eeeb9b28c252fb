// SPDX-License-Identifier: Apache-2.0

// Package tenants has the commands kazahana tenant, which list, copy, move, export,
// import, lock and remove whole tenants.
package tenants
