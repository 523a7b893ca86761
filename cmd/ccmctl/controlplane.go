package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"digitalocean-cloud-controller-manager/internal/controlplane"
)

func newControlPlaneCommand() *cobra.Command {
	var (
		version string
		update  bool
	)
	cmd := &cobra.Command{
		Use:   "controlplane",
		Short: "Provide etcd, kube-apiserver and kubectl, and print their folder",
		Long: `Provide etcd, kube-apiserver and kubectl, and print the folder that they are in.

They come from the first of these that has them:

  KUBEBUILDER_ASSETS=folder   programs that you have
  the user's cache            programs of an earlier run, by version
  CONTROLPLANE=download       the archives published for controller-runtime's
                              envtest; CONTROLPLANE_INDEX=url is another index
  otherwise                   a build from source with the go command, which
                              takes some minutes

Progress goes to standard error.`,
		Example: `  # Run tests that use envtest.
  KUBEBUILDER_ASSETS="$(ccmctl controlplane)" go test ./...

  # Another version of Kubernetes.
  ccmctl controlplane --kubernetes-version 1.36.3

  # In a checkout: pin another version in hack/controlplane.
  ccmctl controlplane --kubernetes-version 1.37.3 --update`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := controlplane.Options{Version: version, Progress: cmd.ErrOrStderr()}
			dir, err := provide(cmd, o, update)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), dir)
			return nil
		},
	}
	cmd.Flags().StringVar(&version, "kubernetes-version", controlplane.DefaultVersion, "version of the control plane")
	cmd.Flags().BoolVar(&update, "update", false, "rewrite this checkout's hack/controlplane for the version, and print its folder")
	return cmd
}

func provide(cmd *cobra.Command, o controlplane.Options, update bool) (string, error) {
	if update {
		return controlplane.UpdateModule(cmd.Context(), o)
	}
	assets, err := controlplane.Ensure(cmd.Context(), o)
	return assets.Dir, err
}
