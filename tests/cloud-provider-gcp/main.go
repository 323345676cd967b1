// The manager over Google's own provider package, k8s.io/cloud-provider-gcp/providers: `make compare-gcp` plays recorded stories with it.
package main

import (
	"os"

	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider-gcp/providers/gce"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "keys" {
		printKeys()
		return
	}
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		klog.Fatalf("cannot make options: %v", err)
	}
	command := app.NewCloudControllerManagerCommand(opts, cloud, app.DefaultInitFuncConstructors,
		names.CCMControllerAliases(), cliflag.NamedFlagSets{}, wait.NeverStop)
	os.Exit(cli.Run(command))
}

func cloud(c *config.CompletedConfig) cloudprovider.Interface {
	of := c.ComponentConfig.KubeCloudShared.CloudProvider
	made, err := cloudprovider.InitCloudProvider(gce.ProviderName, of.CloudConfigFile)
	if err != nil || made == nil {
		klog.Fatalf("cannot make the cloud provider: %v", err)
	}
	return made
}
