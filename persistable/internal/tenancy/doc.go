// SPDX-License-Identifier: Apache-2.0

// Package tenancy holds what the database knows of a tenant besides its records:
// its [Lock] and its [Quota] with the usage. It is kept in annotations of the
// tenant's directory. Stores read it when they open, and package tenants changes it.
// Whatever moves or removes directories asks [FindLock] first, and has their records
// counted anew by [StartRecount] and [Recount].
// docs/layout.md shows the bytes.
package tenancy
