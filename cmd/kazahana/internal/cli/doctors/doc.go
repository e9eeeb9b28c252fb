// SPDX-License-Identifier: Apache-2.0

// Package doctors has the verb kazahana doctor, which examines a whole database:
//
//	root.AddCommand(doctors.Command(console))
//
// Package cmd/kazahana/internal/doctor has the examination; this package prints what it finds.
package doctors
