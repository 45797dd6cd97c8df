package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/probe"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/project"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	"github.com/tvmffi-go/tvmffi/internal/wheel/sites"
)

// ofPackage says which Python package a library is from. The version of the package
// differs from that of the C API, which an official wheel sets to the next release.
func ofPackage(lib probe.Library) string {
	if lib.Identity.PackageVersion == "" {
		return ""
	}
	return " from " + project.CorePackage + " " + lib.Identity.PackageVersion
}

func newSetup(con *console.Console, p *probe.Prober) *cobra.Command {
	var version string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "setup [--version V]",
		Short: "Find or install libtvm_ffi and print its path",
		Long: `setup looks for libtvm_ffi: in TVMFFI_LIBRARY, in the installed Python packages
and in the cache of this tool. If there is none, it downloads the official wheel
with pip or uv, checks its hash and unpacks it into the cache. It also compares
every file in the cache with the hash that its wheel names, and downloads a damaged
wheel again. Programs need no Python afterwards.`,
		Args: console.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := repairCache(cmd.Context(), p); err != nil {
				return err
			}
			lib, err := p.Core(cmd.Context(), version)
			if err != nil {
				return err
			}
			s, err := p.ReadLibraries(cmd.Context(), []probe.Library{lib})
			if err != nil {
				return err
			}
			abi := fmt.Sprintf("%d.%d.%d", s.ABI.Major, s.ABI.Minor, s.ABI.Patch)
			if asJSON {
				return con.JSON(map[string]string{
					"path": lib.Path, "package_version": lib.Identity.PackageVersion, "abi": abi, "sha256": lib.Identity.SHA256,
				})
			}
			con.Notef("libtvm_ffi%s (C API %s); Go programs find it here:\n", ofPackage(lib), abi)
			con.Printf("%s\n", lib.Path)
			return nil
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "version of the Python package apache-tvm-ffi to use")
	_ = cmd.RegisterFlagCompletionFunc("version", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return probe.CoreVersions(), cobra.ShellCompDirectiveNoFileComp
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// repairCache gets each damaged wheel of this platform again.
func repairCache(ctx context.Context, p *probe.Prober) error {
	wheels, _, err := wheel.Unpacked()
	if errors.Is(err, sites.ErrShared) {
		return fmt.Errorf("the cache: %w", err)
	}
	for _, d := range wheels { // without a cache there is nothing to repair
		if !probe.Here(d) {
			continue
		}
		if err := d.Verify(); err != nil {
			if err := p.Repair(ctx, d, err); err != nil {
				return err
			}
		}
	}
	return nil
}
