import { createHash } from 'node:crypto';

const ADJECTIVES = (
  'Agile Amber Ancient Autumn Bold Brave Bright Calm Candid Clever Copper Coral Crimson Curious Daring Eager ' +
  'Early Elegant Emerald Fair Fancy Fearless Gentle Gilded Glad Golden Graceful Happy Hardy Honest Humble Indigo ' +
  'Ivory Jolly Keen Kind Lively Loyal Lucky Mellow Merry Mighty Modest Noble Olive Patient Polite Proud ' +
  'Quick Quiet Radiant Rapid Rustic Scarlet Serene Silver Sincere Steady Sunny Swift Tidy Violet Warm Witty'
).split(' ');

const ANIMALS = (
  'Albatross Antelope Badger Beaver Bison Bobcat Buffalo Camel Caribou Cheetah Cobra Condor Cougar Coyote Crane Cricket ' +
  'Dolphin Dragonfly Eagle Egret Elk Falcon Ferret Finch Fox Gazelle Gecko Goose Hare Hawk Hedgehog Heron ' +
  'Ibex Ibis Jackal Jaguar Koala Lark Lemur Leopard Lynx Magpie Marmot Marten Moose Narwhal Newt Ocelot ' +
  'Orca Osprey Otter Owl Panther Pelican Penguin Puffin Raven Robin Salmon Seal Sparrow Stork Swan Wolf'
).split(' ');

/** A readable name for a customer without one, such as `Amber Otter`. It depends only on the id. */
export function generatedName(id: string): string {
  const hash = createHash('sha256').update(id).digest();
  return `${ADJECTIVES[hash.readUInt8(0) % ADJECTIVES.length]} ${ANIMALS[hash.readUInt8(1) % ANIMALS.length]}`;
}
