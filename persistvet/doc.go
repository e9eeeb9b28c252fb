// SPDX-License-Identifier: Apache-2.0

// Package persistvet has analyzers for programs that use Kazahana or FoundationDB's Go
// binding. They know what a retry loop does: it runs a function again.
//
// The command runs them all, by itself or in go vet:
//
//	go tool persistvet ./...
//	go vet -vettool=$(go tool -n persistvet) ./...
//
// A program that runs analyzers of several authors takes them from [Analyzers]:
//
//	multichecker.Main(append(persistvet.Analyzers(), others...)...)
//
// docs/persistvet.md explains each rule, with what is wrong, what is right, and how to
// silence a finding.
package persistvet
