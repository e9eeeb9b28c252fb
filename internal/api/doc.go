// SPDX-License-Identifier: Apache-2.0

// Package api checks that a release takes nothing away from programs that use an earlier one. Its test lists what the public packages export, a line for each
// constant, variable, function, type, field and method, and compares the lines with the files in the folder api:
//
//	api/v0.1.0.txt  what v0.1.0 exports; files of later releases have what they added
//	api/next.txt    what the next release adds
//	api/except.txt  what was taken away or changed since a release, and why
//
// `make api`, and `make generate`, write next.txt. A line of a release that is exported no longer must be in except.txt. docs/releasing.md says what else to do.
package api

//go:generate go test . -run ^TestExported$ -args -update
